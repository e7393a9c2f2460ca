package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/fleet"
)

func read(t *testing.T, path string) (*Ledger, []string, []fleet.Ref) {
	t.Helper()
	var keys []string
	var refs []fleet.Ref
	l, err := Open(path, func(e fleet.Event, at fleet.Ref) {
		keys, refs = append(keys, e.Key), append(refs, at)
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, keys, refs
}

// What was waited for is there after the file was cut in the middle of a line, and
// can be read where the ledger said.
func TestTorn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x", "ledger.jsonl")
	l, _, _ := read(t, path)
	refs, err := l.Append(fleet.Event{Kind: fleet.KindLost, Key: "a"}, fleet.Event{Kind: fleet.KindLost, Key: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, err := l.Read(refs[1]); err != nil || e.Key != "b" {
		t.Errorf("%v: %+v", err, e)
	}
	if _, err := Open(path, func(fleet.Event, fleet.Ref) {}); err == nil || !strings.Contains(err.Error(), "another coordinator") {
		t.Errorf("two have it open: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"kind":"lost","key":"c`); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	l, keys, _ := read(t, path)
	if strings.Join(keys, "") != "ab" {
		t.Errorf("it holds %v", keys)
	}
	if _, err := l.Append(fleet.Event{Kind: fleet.KindLost, Key: "d"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, keys, _ = read(t, path); strings.Join(keys, "") != "abd" {
		t.Errorf("it holds %v", keys)
	}
	_ = l.Close()
	if err := os.WriteFile(path, []byte("{\"schema\":1,\"kind\":\"ledger\"}\n{\"kind\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, func(fleet.Event, fleet.Ref) {}); err == nil || !strings.Contains(err.Error(), "line 2 is damaged") {
		t.Errorf("%v", err)
	}
}

// slow is a disk with faults: each sync takes a while, and none works while it is full.
type slow struct {
	*os.File
	full  atomic.Bool
	syncs atomic.Int32
}

func (s *slow) WriteAt(b []byte, off int64) (int, error) {
	if s.full.Load() {
		n, _ := s.File.WriteAt(b[:len(b)/2], off)
		return n, syscall.ENOSPC
	}
	return s.File.WriteAt(b, off)
}

func (s *slow) Sync() error {
	s.syncs.Add(1)
	time.Sleep(5 * time.Millisecond)
	return nil
}

func onSlow(t *testing.T) (*Ledger, *slow, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	d := &slow{File: f}
	l, err := start(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.retry = 20 * time.Millisecond
	return l, d, path
}

// Those who wait at the same time share a sync.
func TestTogether(t *testing.T) {
	t.Parallel()
	l, d, path := onSlow(t)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := l.Append(fleet.Event{Kind: fleet.KindLost, Key: "x"}); err != nil {
				t.Error(err)
			}
			if err := l.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := d.syncs.Load(); n > 100 {
		t.Errorf("%d syncs for 200 lines", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, keys, _ := read(t, path); len(keys) != 200 {
		t.Errorf("%d lines", len(keys))
	}
}

// A full disk loses nothing, and nobody is told that a line is safe before it is.
func TestFull(t *testing.T) {
	t.Parallel()
	l, d, path := onSlow(t)
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.full.Store(true)
	if _, err := l.Append(fleet.Event{Kind: fleet.KindLost, Key: "a"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := l.Wait(ctx); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the disk is full: %v", err)
	}
	if _, err := l.Append(fleet.Event{Kind: fleet.KindLost, Key: "b"}); err != nil {
		t.Fatal(err)
	}
	d.full.Store(false)
	if err := l.Wait(t.Context()); err != nil || l.Problem() != nil {
		t.Errorf("there is room again: %v, %v", err, l.Problem())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, keys, _ := read(t, path); strings.Join(keys, "") != "ab" {
		t.Errorf("it holds %v", keys)
	}
}
