// Package ledger is the coordinator's own journal: what happened in the fleet, in
// order, one JSON line for each event, on the disk before anybody is told. A
// coordinator that is started again reads it and goes on.
//
// Lines that come while the disk is busy are written and synced together. A disk
// that is full loses nothing: lines wait in memory, writing is tried again, and
// nobody is told that a line is safe before it is.
package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/internal/filelock"
	"assay/internal/fleet"
)

// Schema is the version of the lines.
const Schema = 1

// header is the first line.
type header struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
}

// disk is what is written to; tests put faults in between.
type disk interface {
	io.ReaderAt
	WriteAt(b []byte, off int64) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// Ledger is an open ledger. Its methods may be called from several goroutines.
type Ledger struct {
	file  disk
	retry time.Duration // how long to wait before a failed write is tried again

	mu       sync.Mutex
	pending  []byte // behind size
	size     int64  // what is on the disk
	end      int64  // where the next line goes: size and all that waits
	problem  error
	written  chan struct{} // closed and replaced whenever size grew, or the ledger was closed
	wake     chan struct{}
	closed   bool
	finished chan struct{}
}

// Open opens the ledger in a folder, making both if need be, and calls back with every event
// that it holds. One process has it open at a time.
func Open(path string, each func(fleet.Event, fleet.Ref)) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the ledger's folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := filelock.Try(f, filelock.Exclusive); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = fmt.Errorf("%s is in use by another coordinator: name another folder with --dir", path)
		}
		return nil, errors.Join(err, f.Close())
	}
	size, err := replay(f, each)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return start(f, size)
}

// start begins to write behind what there is.
func start(f disk, size int64) (*Ledger, error) {
	if err := f.Truncate(size); err != nil { // a torn line, which nobody was told of
		return nil, errors.Join(err, f.Close())
	}
	l := &Ledger{file: f, retry: time.Second, size: size, end: size, written: make(chan struct{}), wake: make(chan struct{}, 1), finished: make(chan struct{})}
	if size == 0 {
		head, err := json.Marshal(header{Schema, "ledger"})
		if err != nil {
			return nil, err
		}
		l.pending = append(l.pending, append(head, '\n')...)
		l.end = int64(len(l.pending))
		l.wake <- struct{}{}
	}
	go l.write()
	return l, nil
}

// replay reads what there is and returns where the last whole line ends.
func replay(f io.Reader, each func(fleet.Event, fleet.Ref)) (int64, error) {
	in := bufio.NewReaderSize(f, 1<<20)
	var at int64
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		ref := fleet.Ref{Offset: at, Bytes: len(line)}
		at += int64(len(line))
		if number == 1 {
			var h header
			if json.Unmarshal(line, &h) != nil || h.Kind != "ledger" {
				return 0, errors.New("it is not a coordinator's ledger")
			}
			if h.Schema > Schema {
				return 0, fmt.Errorf("it was made by a newer Assay (schema %d): update Assay", h.Schema)
			}
			continue
		}
		var e fleet.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("line %d is damaged (%w): restore the file from a copy, or begin a new folder with --dir", number, err)
		}
		each(e, ref)
	}
}

// Append adds events and returns where they will be. They are safe only when Wait
// has returned. Lines keep the order of calls.
func (l *Ledger) Append(events ...fleet.Event) ([]fleet.Ref, error) {
	var data []byte
	refs := make([]fleet.Ref, len(events))
	for i, e := range events {
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		refs[i] = fleet.Ref{Offset: int64(len(data)), Bytes: len(line)}
		data = append(data, line...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("the ledger is closed")
	}
	for i := range refs {
		refs[i].Offset += l.end
	}
	l.pending = append(l.pending, data...)
	l.end += int64(len(data))
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return refs, nil
}

func encode(e fleet.Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return b.Bytes(), err
}

// Wait returns when all that was appended before is on the disk.
func (l *Ledger) Wait(ctx context.Context) error {
	l.mu.Lock()
	end := l.end
	for l.size < end && !l.closed {
		written := l.written
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), l.Problem())
		case <-written:
		}
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	if l.size < end {
		return errors.New("the ledger was closed before it was written")
	}
	return nil
}

// write brings what waits to the disk, until the ledger is closed.
func (l *Ledger) write() {
	defer close(l.finished)
	for range l.wake {
		for l.flush() {
		}
	}
}

// flush writes what waits; false when there is nothing more to do now.
func (l *Ledger) flush() bool {
	l.mu.Lock()
	data, at := l.pending, l.size
	l.mu.Unlock()
	if len(data) == 0 {
		return false
	}
	_, err := l.file.WriteAt(data, at)
	if err == nil {
		err = l.file.Sync()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problem = err
	if err != nil {
		if !l.closed {
			time.AfterFunc(l.retry, l.again)
		}
		return false
	}
	l.size += int64(len(data))
	l.pending = append([]byte(nil), l.pending[len(data):]...)
	close(l.written)
	l.written = make(chan struct{})
	return true
}

func (l *Ledger) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Read reads an event that is on the disk.
func (l *Ledger) Read(at fleet.Ref) (fleet.Event, error) {
	line := make([]byte, at.Bytes)
	if _, err := l.file.ReadAt(line, at.Offset); err != nil {
		return fleet.Event{}, fmt.Errorf("read the ledger: %w", err)
	}
	var e fleet.Event
	return e, json.Unmarshal(line, &e)
}

// Each calls back with every event that is on the disk.
func (l *Ledger) Each(ctx context.Context, each func(fleet.Event)) error {
	in := whileWanted{ctx, io.NewSectionReader(l.file, 0, l.Size())}
	_, err := replay(in, func(e fleet.Event, _ fleet.Ref) { each(e) })
	return err
}

// whileWanted is a reader that ends with a context.
type whileWanted struct {
	ctx context.Context //nolint:containedctx // of one call
	in  io.Reader
}

func (r whileWanted) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(b)
}

// Size is how many bytes are on the disk.
func (l *Ledger) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Problem is why the last write failed; nil when it did not.
func (l *Ledger) Problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problem
}

// Close writes what waits and closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.wake)
	l.mu.Unlock()
	<-l.finished
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.written)
	return errors.Join(l.problem, l.file.Close())
}
