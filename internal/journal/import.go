package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"assay/internal/cell"
	"assay/internal/input"
)

// maxImport bounds a journal that comes from elsewhere: it is held in memory to
// be compared.
const maxImport = 4 << 30

// maxReport bounds the JSON of test and bench that is taken into memory.
const maxReport = 1 << 30

// Imported says what an import changed.
type Imported struct {
	RunID string
	Path  string // the journal that now holds the run
	New   int    // results and detections that were not there before
	Known int    // those that were
	// Local are the new results of cells that name files of the machine that they
	// ran on: no other one can run those.
	Local int
	// Problems are the lines of the source that could not be used.
	Problems []Problem
}

// Import brings the file src into a folder of journals. src is a journal, or
// the JSON that test and bench print. A line that is there already is left
// alone, so importing twice changes nothing, and a longer version of a run
// extends a shorter one. When the two disagree it is a *ConflictError and
// nothing changes. It is all or nothing, whenever it is stopped. A result that
// contradicts what was detected where it claims to have run is not taken.
func Import(ctx context.Context, src, dir string, here Here) (Imported, error) {
	s, err := readSource(ctx, src, src)
	if err != nil {
		return Imported{}, err
	}
	return s.into(dir, here)
}

// ImportFrom is Import of what comes through a pipe, which is kept in a
// temporary file until it is whole.
func ImportFrom(ctx context.Context, r io.Reader, name, dir string, here Here) (done Imported, err error) {
	f, err := os.CreateTemp("", "assay-import-*")
	if err != nil {
		return Imported{}, fmt.Errorf("import %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := input.Copy(ctx, f, name, r, maxImport); err != nil {
		return Imported{}, err
	}
	s, err := readSource(ctx, f.Name(), name)
	if err != nil {
		return Imported{}, err
	}
	return s.into(dir, here)
}

func (s source) into(dir string, here Here) (Imported, error) {
	s.refuse(here)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Imported{}, fmt.Errorf("make the folder of journals: %w", err)
	}
	path := Path(dir, s.header.Run.ID)
	done := Imported{RunID: s.header.Run.ID, Path: path, Problems: s.problems}
	n, err := s.mergeInto(path)
	done.New, done.Known, done.Local = n.fresh, n.known, n.local
	return done, err
}

// source is a file to import, as lines.
type source struct {
	path     string
	header   Header
	lines    []sourceLine
	problems []Problem
}

// sourceLine is one line to be imported, encoded, and what it is known by.
type sourceLine struct {
	kind Kind
	id   string
	sum  string // of its content without its id
	data []byte
	line Line
}

// readSource reads the file at path, which errors call by another name where
// users know it by one.
func readSource(ctx context.Context, path, name string) (source, error) {
	r, err := open(path, name)
	foreign := (*ForeignError)(nil)
	if errors.As(err, &foreign) {
		return readReport(ctx, path, name)
	}
	if err != nil {
		return source{}, err
	}
	if info, err := r.file.Stat(); err != nil || info.Size() > maxImport {
		return source{}, errors.Join(err, &input.LargeError{Path: name, Limit: maxImport}, r.Close())
	}
	s, err := readLines(ctx, r)
	return s, errors.Join(err, r.Close())
}

func readLines(ctx context.Context, r *Reader) (source, error) {
	s := source{path: r.path, header: r.header}
	for {
		line, err := r.Next()
		if ctx.Err() != nil {
			return s, context.Cause(ctx)
		}
		if errors.Is(err, io.EOF) {
			s.problems = r.Problems()
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if line.Kind != KindResult && line.Kind != KindDetection && line.Kind != KindEnd {
			continue
		}
		l, err := newSourceLine(line)
		if err != nil {
			return s, err
		}
		s.lines = append(s.lines, l)
	}
}

func newSourceLine(l Line) (sourceLine, error) {
	w := wire{Kind: l.Kind, ID: l.ID, Result: l.Body, Detection: l.Detection, Imported: l.Kind != KindEnd}
	if l.Kind == KindDetection {
		w.At = &l.At
	}
	data, err := w.encode(MaxLine)
	return sourceLine{l.Kind, l.ID, w.sum(), data, l}, err
}

// sum is over what the line holds, not over its id nor how it was spaced or
// escaped: the same result may come in a journal and in a report.
func (w wire) sum() string {
	body := w.Result
	if w.Kind == KindDetection {
		body = w.Detection
	}
	sum := sha256.Sum256(canonical(body))
	return string(w.Kind) + "-" + hex.EncodeToString(sum[:8])
}

func canonical(body []byte) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return body
	}
	b, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return b
}

// summed reports whether the line's id was made of its content.
func (l sourceLine) summed() bool { return strings.HasSuffix(l.id, "."+l.sum) }

// readReport makes the same lines every time from the JSON of test and bench:
// the ids of its results are hashes of what they hold.
func readReport(ctx context.Context, path, name string) (source, error) {
	b, err := input.Read(ctx, path, nil, maxReport)
	if large := (*input.LargeError)(nil); errors.As(err, &large) {
		return source{}, &ForeignError{name, "it is too large to be the result of test or bench"}
	}
	if err != nil {
		return source{}, fmt.Errorf("read result file: %w", err)
	}
	return parseReport(name, b)
}

func parseReport(path string, b []byte) (source, error) {
	var mark struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal(b, &mark) == nil && mark.Schema > cell.Schema {
		return source{}, &NewerError{path, mark.Schema}
	}
	var report struct {
		cell.Report
		Results []json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(b, &report); err != nil || report.Schema < 1 || report.Results == nil {
		return source{}, &ForeignError{path, "it is neither a journal nor what test --json or bench --json print"}
	}
	if err := checkRunID(report.Run.ID); err != nil {
		return source{}, &ForeignError{path, err.Error()}
	}
	s := source{path: path, header: Header{Schema: Schema, Run: report.Run, Host: report.Host}}
	return s, s.addResults(report.Results)
}

// ImportResults is Import of a run's results that are at hand; whole says that there are no more of them.
func ImportResults(h Header, results []cell.Result, whole bool, dir string, here Here) (Imported, error) {
	if err := checkRunID(h.Run.ID); err != nil {
		return Imported{}, err
	}
	s := source{path: h.Run.ID, header: h}
	bodies := make([]json.RawMessage, len(results))
	for i, r := range results {
		body, err := compact(r)
		if err != nil {
			return Imported{}, fmt.Errorf("result of %s: %w", r.Cell.Model(), err)
		}
		bodies[i] = body
	}
	if err := s.addResults(bodies); err != nil {
		return Imported{}, err
	}
	if !whole {
		s.lines = s.lines[:len(s.lines)-1] // the end
	}
	return s.into(dir, here)
}

func (s *source) addResults(results []json.RawMessage) error {
	for i, body := range results {
		line := Line{Kind: KindResult, Body: body}
		if err := line.decode(); err != nil {
			s.problems = append(s.problems, Problem{s.path, 0, fmt.Errorf("result %d: %w", i+1, err)})
			continue
		}
		line.ID = s.header.Run.ID + "." + wire{Kind: KindResult, Result: body}.sum()
		l, err := newSourceLine(line)
		if err != nil {
			return err
		}
		s.lines = append(s.lines, l)
	}
	end, err := newSourceLine(Line{Kind: KindEnd, ID: s.header.Run.ID + "." + string(KindEnd)})
	s.lines = append(s.lines, end)
	return err
}
