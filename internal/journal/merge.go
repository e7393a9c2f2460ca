package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/wholefile"
)

// merged is how many results and detections were new and known, and how many of
// the new ones are results of cells that do not travel.
type merged struct{ fresh, known, local int }

// mergeInto appends to the journal at path those lines that it lacks.
func (s source) mergeInto(path string) (merged, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return s.create(path)
	}
	if err != nil {
		return merged{}, fmt.Errorf("open journal: %w", err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return s.whileWritten(path, err)
	}
	return s.extend(path, f)
}

// create writes the whole journal under another name first, so that a journal
// is never seen half imported.
func (s source) create(path string) (merged, error) {
	data, n, err := s.missing(path, hold(source{}, 0))
	if err != nil {
		return merged{}, err
	}
	if err := place(path, data); err != nil {
		return merged{}, err
	}
	return n, nil
}

func place(path string, data []byte) error {
	err := wholefile.Stream(path, wholefile.Options{Mode: 0o644, New: true}, func(f *os.File) error {
		return (&Writer{path: path, file: f}).write(data) // which brings it to the disk
	})
	switch full := (*FullError)(nil); {
	case errors.Is(err, fs.ErrExist):
		return &BusyError{path}
	case errors.As(err, &full):
		return err
	case err != nil:
		return fmt.Errorf("import journal: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// whileWritten lets a journal be imported into the place where it is being
// written, which changes nothing; anything else has to wait for its writer.
func (s source) whileWritten(path string, busy error) (merged, error) {
	have, err := s.load(path)
	if err != nil {
		return merged{}, err
	}
	_, n, err := s.missing(path, have)
	if err == nil && n.fresh > 0 {
		return merged{}, busy
	}
	return merged{known: n.known}, err
}

// load reads what lies at path, which must be of the same run.
func (s source) load(path string) (*held, error) {
	r, err := Open(path)
	if errors.Is(err, ErrEmpty) {
		return hold(source{}, 0), nil
	}
	if err != nil {
		return nil, err
	}
	have, err := readLines(context.Background(), r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if !sameRun(have.header, s.header) {
		return nil, &ConflictError{path, s.path, "the run and its host"}
	}
	return hold(have, r.Offset()), nil
}

// held is what a journal holds already.
type held struct {
	sums map[string]string // id → sum
	// A result may be held under the id its run gave it, and come again in a
	// report, under one made of its sum; or the other way round.
	numbered, summed map[string]bool
	end              bool
	size             int64 // up to the last complete line; 0 when there is no header
}

func hold(s source, size int64) *held {
	h := &held{sums: map[string]string{}, numbered: map[string]bool{}, summed: map[string]bool{}, size: size}
	for _, l := range s.lines {
		h.add(l)
	}
	return h
}

func (h *held) add(l sourceLine) {
	h.sums[l.id] = l.sum
	h.end = h.end || l.kind == KindEnd
	if l.summed() {
		h.summed[l.sum] = true
	} else {
		h.numbered[l.sum] = true
	}
}

func (h *held) has(l sourceLine) bool {
	if _, ok := h.sums[l.id]; ok {
		return true
	}
	if l.summed() {
		return h.numbered[l.sum]
	}
	return h.summed[l.sum]
}

func sameRun(a, b Header) bool {
	x, errX := json.Marshal([]any{a.Run, a.Host})
	y, errY := json.Marshal([]any{b.Run, b.Host})
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (s source) extend(path string, f *os.File) (merged, error) {
	have, err := s.load(path)
	if err != nil {
		return merged{}, err
	}
	missing, n, err := s.missing(path, have)
	if err != nil || len(missing) == 0 {
		return merged{known: n.known}, err
	}
	if err := f.Truncate(have.size); err != nil {
		return merged{}, fmt.Errorf("cut torn line off %s: %w", path, err)
	}
	w := &Writer{path: path, file: f, size: have.size}
	if err := w.write(missing); err != nil {
		return merged{}, err
	}
	return n, nil
}

// missing returns the lines that a journal lacks, ready to be appended, the
// header too when it has none. The same id with other content is a conflict.
func (s source) missing(path string, have *held) (data []byte, n merged, err error) {
	if have.size == 0 {
		w := headerLine(s.header)
		w.Imported = true
		w.ID = s.header.Run.ID + ".0"
		if data, err = w.encode(MaxLine); err != nil {
			return nil, n, err
		}
	}
	for _, l := range s.lines {
		sum, sameID := have.sums[l.id]
		switch {
		case sameID && sum != l.sum:
			return nil, n, &ConflictError{path, s.path, "line " + l.id}
		case l.kind == KindEnd && have.end:
		case l.kind != KindEnd && have.has(l):
			n.known++
		default:
			have.add(l)
			data = append(data, l.data...)
			if l.kind != KindEnd {
				n.fresh++
			}
			if l.kind == KindResult && !l.line.Result.Cell.Travels() {
				n.local++
			}
		}
	}
	return data, n, nil
}
