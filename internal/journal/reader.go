package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"assay/internal/cell"
	"assay/internal/input"
)

// Reader goes through the lines of one journal. It may read while a Writer
// writes. It is not safe for use by several goroutines.
type Reader struct {
	path     string // as errors call it
	file     *os.File
	in       *bufio.Reader
	limit    int // of a line, in bytes
	packed   bool
	header   Header
	number   int   // lines read, the broken ones too
	offset   int64 // just after the last complete line read
	torn     bool
	problems []Problem
}

// Open reads the header of the journal at path. The error is a *ForeignError
// when the file is not a journal, a *NewerError when a newer version made it, and
// ErrEmpty when nothing was finished in it.
func Open(path string) (*Reader, error) { return open(path, path) }

func open(path, name string) (*Reader, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	r := &Reader{path: name, file: f, in: bufio.NewReaderSize(unpack(path, f), 64<<10), limit: MaxLine, packed: strings.HasSuffix(path, Packed)}
	if err := r.readHeader(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	b, err := r.readLine()
	long := (*LongError)(nil)
	switch {
	case errors.Is(err, io.EOF) && mayBeHeader(b):
		return fmt.Errorf("%s: %w", r.path, ErrEmpty)
	case errors.Is(err, io.EOF), errors.As(err, &long):
		return &ForeignError{r.path, "its first line is not a run's header"}
	case err != nil:
		return fmt.Errorf("read journal %s: %w", r.path, err)
	}
	r.header, err = parseHeader(r.path, b)
	return err
}

// mayBeHeader reports whether a torn line begins as a header does.
func mayBeHeader(torn []byte) bool {
	start := fmt.Sprintf(`{"schema":%d,"kind":%q`, Schema, KindRun)
	n := min(len(torn), len(start))
	return string(torn[:n]) == start[:n]
}

func parseHeader(path string, b []byte) (Header, error) {
	// The schema is looked at alone first: a newer header need not decode.
	var mark struct {
		Schema int  `json:"schema"`
		Kind   Kind `json:"kind"`
	}
	if json.Unmarshal(b, &mark) != nil || mark.Kind != KindRun || mark.Schema < 1 {
		return Header{}, &ForeignError{path, "its first line is not a run's header"}
	}
	if mark.Schema > Schema {
		return Header{}, &NewerError{path, mark.Schema}
	}
	var w wire
	if err := json.Unmarshal(b, &w); err != nil || w.Run == nil || w.Host == nil {
		return Header{}, &ForeignError{path, "its header is damaged"}
	}
	if err := checkRunID(w.Run.ID); err != nil {
		return Header{}, &ForeignError{path, err.Error()}
	}
	return Header{w.Schema, *w.Run, *w.Host, w.Plan, w.Imported}, nil
}

// Header is the journal's first line.
func (r *Reader) Header() Header { return r.header }

// Offset is where the last complete line read ends: where to go on later.
func (r *Reader) Offset() int64 { return r.offset }

// Number is how many lines were read, the header and broken ones too.
func (r *Reader) Number() int { return r.number }

// Torn reports, once Next has returned io.EOF, whether the file ends in a line
// that is not complete.
func (r *Reader) Torn() bool { return r.torn }

// Problems are the lines passed over so far, and at the end the torn one.
func (r *Reader) Problems() []Problem { return r.problems }

// Resume goes on at an offset and line number that an earlier Reader gave.
func (r *Reader) Resume(offset int64, number int) error {
	if r.packed {
		return fmt.Errorf("%s: %w", r.path, errPacked)
	}
	if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	r.in.Reset(r.file)
	r.offset, r.number, r.torn = offset, number, false
	return nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Next returns the next good line, or io.EOF after the last one. A broken line
// is passed over and joins Problems.
func (r *Reader) Next() (Line, error) {
	for {
		b, err := r.readLine()
		long := (*LongError)(nil)
		switch {
		case errors.As(err, &long):
			r.problem(errors.New("the line is too long"))
		case errors.Is(err, io.EOF):
			return Line{}, io.EOF
		case err != nil:
			return Line{}, fmt.Errorf("read journal %s: %w", r.path, err)
		default:
			line, err := r.parse(b)
			if err == nil {
				return line, nil
			}
			r.problem(err)
		}
	}
}

func (r *Reader) problem(err error) {
	r.problems = append(r.problems, Problem{r.path, r.number, err})
}

func (r *Reader) parse(b []byte) (Line, error) {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return Line{}, fmt.Errorf("the line is damaged: %w", input.InWords(err))
	}
	if !utf8.Valid(b) {
		return Line{}, errors.New("the line is damaged: it is not UTF-8")
	}
	if !strings.HasPrefix(w.ID, r.header.Run.ID+".") {
		return Line{}, fmt.Errorf("the line's id %.120q does not belong to run %s", w.ID, r.header.Run.ID)
	}
	line := Line{Kind: w.Kind, ID: w.ID, Number: r.number, Imported: r.header.Imported || w.Imported}
	switch w.Kind {
	case KindResult:
		line.Body = w.Result
		return line, line.decode()
	case KindDetection:
		if w.At != nil {
			line.At = *w.At
		}
		line.Detection = w.Detection
		if !isObject(w.Detection) {
			return Line{}, errors.New("the line's detection is not an object")
		}
	}
	return line, nil
}

func (l *Line) decode() error {
	if !isObject(l.Body) {
		return errors.New("the line's result is not an object")
	}
	l.Result = new(cell.Result)
	if err := json.Unmarshal(l.Body, l.Result); err != nil {
		return fmt.Errorf("the line's result is damaged: %w", input.InWords(err))
	}
	if l.Result.Cell.Type == "" {
		return errors.New("the line's result has no cell")
	}
	if err := l.Result.Known(); err != nil {
		return fmt.Errorf("the line's result is not one of Assay's: %w", err)
	}
	return nil
}

func isObject(b json.RawMessage) bool { return len(b) > 0 && b[0] == '{' }

// readLine returns the next line without its newline. The error is a
// *LongError for one that was passed over, io.EOF at the end of the file or at
// a line that has no end yet, which is returned too.
func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	size := 0
	for {
		part, err := r.in.ReadSlice('\n')
		size += len(part)
		if size <= r.limit {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			r.tear(size)
			return line, io.EOF
		case err != nil:
			return nil, err
		}
		r.offset += int64(size)
		r.number++
		if size > r.limit {
			return nil, &LongError{Bytes: size, Limit: r.limit}
		}
		return line[:len(line)-1], nil
	}
}

func (r *Reader) tear(size int) {
	if size > 0 && !r.torn {
		r.torn = true
		r.problems = append(r.problems, Problem{r.path, r.number + 1, errTorn})
	}
}
