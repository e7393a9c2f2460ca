package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/filelock"
)

// file is what a Writer needs of an open file; tests put faults in between.
type file interface {
	WriteAt(b []byte, off int64) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// Writer appends to one journal. All its methods may be called from several
// goroutines; lines that come while the disk is busy are written together.
type Writer struct {
	path  string
	run   string
	limit int // of a line, in bytes

	mu   sync.Mutex // guards seq, next
	seq  int
	next *batch

	commit sync.Mutex // held while a batch is written; guards what follows
	file   file
	size   int64 // what is acknowledged
	broken error // set when what lies beyond size could not be cut away
}

// batch is a group of lines that one write and one sync make durable.
type batch struct {
	data []byte
	done bool
	err  error
}

// Create starts the journal of a run in a folder of journals, which is made
// when needed.
func Create(dir string, h Header) (*Writer, error) {
	if err := checkRunID(h.Run.ID); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of journals: %w", err)
	}
	return CreateFile(Path(dir, h.Run.ID), h)
}

// CreateFile starts the journal of a run at a path, where no file may be yet:
// what a worker is told to write and another machine imports.
func CreateFile(path string, h Header) (*Writer, error) {
	if err := checkRunID(h.Run.ID); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists already: a journal is never overwritten; name another file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	w, err := begin(f, h)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return w, nil
}

func begin(f *os.File, h Header) (*Writer, error) {
	if err := lock(f); err != nil {
		return nil, err
	}
	w := &Writer{path: f.Name(), run: h.Run.ID, limit: MaxLine, file: f, next: new(batch)}
	if _, err := w.append(headerLine(h)); err != nil {
		return nil, err
	}
	return w, syncDir(filepath.Dir(f.Name()))
}

func headerLine(h Header) wire {
	return wire{Schema: Schema, Kind: KindRun, Run: &h.Run, Host: &h.Host, Plan: h.Plan, Imported: h.Imported}
}

func lock(f *os.File) error {
	err := filelock.Try(f, filelock.Exclusive)
	if errors.Is(err, filelock.ErrHeld) {
		return &BusyError{f.Name()}
	}
	return err
}

// Path is where the journal is.
func (w *Writer) Path() string { return w.path }

// RunID is the run whose journal it is.
func (w *Writer) RunID() string { return w.run }

// Append writes a result and returns its id once it is on the disk. After an
// error nothing of it is in the file, and it may be appended again; a
// *FullError says that the disk has no room.
func (w *Writer) Append(r cell.Result) (string, error) {
	body, err := compact(r)
	if err != nil {
		return "", fmt.Errorf("result of %s: %w", r.Cell.Model(), err)
	}
	return w.append(wire{Kind: KindResult, Result: body})
}

// AppendDetection writes what detection found at a time, as detect --json
// prints it, and returns the line's id once it is on the disk.
func (w *Writer) AppendDetection(at time.Time, detection json.RawMessage) (string, error) {
	if !isObject(detection) {
		return "", errors.New("a detection in a journal must be a JSON object")
	}
	return w.append(wire{Kind: KindDetection, At: &at, Detection: detection})
}

// End says that the run is complete. Close without End leaves a run that was
// cut short.
func (w *Writer) End() error {
	_, err := w.append(wire{Kind: KindEnd})
	return err
}

// append joins the batch that waits, and commits it unless another goroutine
// that joined it was quicker.
func (w *Writer) append(line wire) (string, error) {
	id, b, err := w.join(line)
	if err != nil {
		return "", err
	}
	return id, w.settle(b)
}

// settle makes a batch durable unless that was done.
func (w *Writer) settle(b *batch) error {
	w.commit.Lock()
	defer w.commit.Unlock()
	if !b.done {
		w.mu.Lock()
		w.next = new(batch)
		w.mu.Unlock()
		b.done, b.err = true, w.write(b.data)
	}
	return b.err
}

// AppendAll writes results in this order and returns once all are on the disk: what
// comes from a fleet comes many at a time.
func (w *Writer) AppendAll(results []cell.Result) error {
	var failed error
	var last *batch
	for _, r := range results {
		body, err := compact(r)
		if err != nil {
			return fmt.Errorf("result of %s: %w", r.Cell.Model(), err)
		}
		_, b, err := w.join(wire{Kind: KindResult, Result: body})
		if err != nil {
			return err
		}
		if last != nil && last != b {
			failed = errors.Join(failed, w.settle(last))
		}
		last = b
	}
	if last == nil {
		return nil
	}
	return errors.Join(failed, w.settle(last))
}

func (w *Writer) join(line wire) (string, *batch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line.ID = w.run + "." + strconv.Itoa(w.seq)
	data, err := line.encode(w.limit)
	if err != nil {
		return "", nil, err
	}
	w.seq++
	w.next.data = append(w.next.data, data...)
	return line.ID, w.next, nil
}

// write makes data durable behind what is acknowledged, or leaves the file as
// it was.
func (w *Writer) write(data []byte) error {
	if w.broken != nil {
		return w.broken
	}
	_, err := w.file.WriteAt(data, w.size)
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		w.size += int64(len(data))
		return nil
	}
	if cut := w.file.Truncate(w.size); cut != nil {
		w.broken = fmt.Errorf("journal %s can no longer be written, what was finished before is kept: %w", w.path, errors.Join(err, cut))
		return w.broken
	}
	if isFull(err) {
		return &FullError{w.path, err}
	}
	return fmt.Errorf("write journal %s: %w", w.path, err)
}

// Close waits for lines that are being written and closes the file; lines
// appended later fail.
func (w *Writer) Close() error {
	w.commit.Lock()
	defer w.commit.Unlock()
	if errors.Is(w.broken, fs.ErrClosed) {
		return nil
	}
	w.broken = fmt.Errorf("journal %s is closed: %w", w.path, fs.ErrClosed)
	return w.file.Close()
}
