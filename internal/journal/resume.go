package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"assay/internal/cell"
)

// OtherRunError says that a journal cannot be gone on with.
type OtherRunError struct {
	Path string
	What string // that differs: "the plan"
}

func (e *OtherRunError) Error() string {
	return fmt.Sprintf("%s cannot be gone on with: %s is not the one that it was begun with; name another file", e.Path, e.What)
}

// Continue goes on with the journal of a run that was cut short, or begins it
// where there is none. The new run must be the same: plan, host and program. It
// keeps the id of the first. What was finished is returned.
func Continue(path string, h Header) (*Writer, []cell.Result, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		w, err := CreateFile(path, h)
		return w, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	w, done, err := goOn(f, h)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return w, done, nil
}

func goOn(f *os.File, h Header) (*Writer, []cell.Result, error) {
	if err := lock(f); err != nil {
		return nil, nil, err
	}
	r, err := Open(f.Name())
	if err != nil {
		return nil, nil, err
	}
	have, err := readLines(context.Background(), r)
	if err = errors.Join(err, r.Close(), sameAs(f.Name(), have.header, h)); err != nil {
		return nil, nil, err
	}
	w := &Writer{path: f.Name(), run: have.header.Run.ID, limit: MaxLine, file: f, next: new(batch), size: r.Offset(), seq: 1}
	var done []cell.Result
	for _, l := range have.lines {
		w.seq = max(w.seq, number(l.id)+1)
		if l.kind == KindResult {
			done = append(done, *l.line.Result)
		}
	}
	return w, done, f.Truncate(w.size)
}

func sameAs(path string, old, now Header) error {
	for _, x := range []struct{ what, old, now string }{
		{"the plan", old.Run.PlanHash, now.Run.PlanHash},
		{"the program", old.Run.Assay, now.Run.Assay},
		{"the machine", old.Host.ID, now.Host.ID},
	} {
		if x.old != x.now {
			return &OtherRunError{path, x.what}
		}
	}
	return nil
}

// number is a line's place, which ends its id.
func number(id string) int {
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:])
	if err != nil {
		return 0
	}
	return n
}
