package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// faulty fails as a full disk does: part of the write is taken, the rest is
// not; or the sync finds out.
type faulty struct {
	*os.File
	room      int // bytes that may still be written; -1 is no limit
	syncErr   error
	truncErr  error
	truncates int
}

func (f *faulty) WriteAt(b []byte, off int64) (int, error) {
	if f.room < 0 || len(b) <= f.room {
		if f.room > 0 {
			f.room -= len(b)
		}
		return f.File.WriteAt(b, off)
	}
	n, err := f.File.WriteAt(b[:f.room], off)
	f.room = 0
	return n, errors.Join(err, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC})
}

func (f *faulty) Sync() error {
	if f.syncErr != nil {
		return f.syncErr
	}
	return f.File.Sync()
}

func (f *faulty) Truncate(n int64) error {
	f.truncates++
	if f.truncErr != nil {
		return f.truncErr
	}
	return f.File.Truncate(n)
}

func faultyWriter(t testing.TB) (*Writer, *faulty) {
	t.Helper()
	w, err := Create(t.TempDir(), header("run-1"))
	must(t, err)
	f := &faulty{File: w.file.(*os.File), room: -1}
	w.file = f
	t.Cleanup(func() { w.Close() })
	return w, f
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	w, f := faultyWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		before, err := os.ReadFile(w.Path())
		if err != nil {
			t.Fatal(err)
		}
		f.room = rapid.IntRange(0, 300).Draw(t, "room")
		_, err = w.Append(result(1))
		full := (*FullError)(nil)
		if !errors.As(err, &full) || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "the disk is full: "+w.Path()) {
			t.Fatalf("a full disk gave %v", err)
		}
		if after, err := os.ReadFile(w.Path()); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("a failed append left something behind: %v", err)
		}
		f.room = -1
		if _, err := w.Append(result(2)); err != nil {
			t.Fatalf("with room again, Append gave %v", err)
		}
	})
	if _, problems := read(t, w.Path()); len(problems) != 0 {
		t.Error(problems)
	}
}

func TestFailedSyncIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	w, f := faultyWriter(t)
	f.syncErr = io.ErrUnexpectedEOF
	if _, err := w.Append(result(0)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a failed sync gave %v", err)
	}
	if lines, _ := read(t, w.Path()); len(lines) != 0 || f.truncates != 1 {
		t.Errorf("the line stayed in the file: %v", ids(lines))
	}
}

func TestWriterThatCannotCutStops(t *testing.T) {
	t.Parallel()
	w, f := faultyWriter(t)
	_, err := w.Append(result(0))
	must(t, err)
	f.room, f.truncErr = 10, errors.New("no truncation today")
	if _, err := w.Append(result(1)); err == nil {
		t.Error("a torn line was acknowledged")
	}
	f.room, f.truncErr = -1, nil
	if _, err := w.Append(result(2)); err == nil || !strings.Contains(err.Error(), "can no longer be written") {
		t.Errorf("a writer behind a torn line gave %v", err)
	}
	if lines, problems := read(t, w.Path()); len(lines) != 1 || len(problems) != 1 {
		t.Errorf("%v %v", ids(lines), problems)
	}
}

func TestTooLongALine(t *testing.T) {
	t.Parallel()
	w, _ := faultyWriter(t)
	w.limit = 10_000
	r := result(0)
	r.Note = strings.Repeat("x", w.limit)
	long := (*LongError)(nil)
	if _, err := w.Append(r); !errors.As(err, &long) {
		t.Errorf("a line over the limit gave %v", err)
	}
	_, err := w.Append(result(1))
	must(t, err)
}

func TestTooLongALineIsPassedOver(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "run-1", 1)
	b := append(bytesOf(t, path), bytes.Repeat([]byte("x"), 300_000)...)
	must(t, os.WriteFile(path, append(b, "\n"+`{"kind":"end","id":"run-1.99"}`+"\n"...), 0o644))
	r, err := Open(path)
	must(t, err)
	defer r.Close()
	r.limit = 100_000
	lines, err := rest(r)
	must(t, err)
	if problems := r.Problems(); len(lines) != 4 || len(problems) != 1 || problems[0].Line != 5 {
		t.Errorf("%v %v", ids(lines), problems)
	}
}
