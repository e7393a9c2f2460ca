package report

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/progress"
)

// follow feeds a whole run to a progress.
func follow(p Progress) {
	results := runFixture()
	tell(p, progress.Note("making the Python environment"), progress.Planned(len(results)))
	for _, r := range results {
		tell(p, progress.Started(r.Cell), progress.Finished(r))
	}
}

// tell has a progress hear events; it stops nothing.
func tell(p Progress, events ...progress.Event) {
	for _, e := range events {
		if err := p.Hear(e); err != nil {
			panic(err)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	now := swept
	p := &lines{w: &b, now: func() time.Time { now = now.Add(3 * time.Second); return now }}
	follow(p)
	p.Close()
	golden(t, "progress.txt", b.Bytes())
}

func TestALineSaysWhatDidNotRun(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &lines{w: &b, now: func() time.Time { return swept }, total: 1, done: 1}
	p.say(cell.Result{Cell: cell.Cell{Type: "whisper", Target: "rocm"}, Verdict: cell.Works, Evidence: cell.Derived}, swept)
	if got := b.String(); !strings.HasPrefix(got, "1/1 ○ whisper on rocm: should work (") {
		t.Errorf("it says %q", got)
	}
}

// shared is a buffer that a bar's own goroutine may write to.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func TestBar(t *testing.T) {
	t.Parallel()
	var out shared
	p := newBar(&out, nil)
	follow(p)
	if got := p.status(); got != "4✓ 1◐ 2✗ 1–" {
		t.Errorf("status %q", got)
	}
	c := runFixture()[0].Cell
	for range 3 {
		tell(p, progress.Started(c))
	}
	if got := p.status(); !strings.HasSuffix(got, "bert on cpu and 2 more") {
		t.Errorf("status %q", got)
	}
	tell(p, progress.Note("waiting\nfor memory"))
	if got := p.status(); !strings.HasSuffix(got, "waiting for memory") {
		t.Errorf("status %q", got)
	}
	p.Close()
	p.Close()
	if out.b.Len() == 0 {
		t.Error("nothing was drawn")
	}
}

// A run that is stopped early must not wait for a bar that never fills.
func TestBarStoppedEarly(t *testing.T) {
	t.Parallel()
	p := NewProgress(io.Discard, true, nil)
	tell(p, progress.Planned(100), progress.Started(cell.Cell{Type: "bert"}.Normal()))
	done := make(chan struct{})
	go func() { p.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("Close hangs")
	}
}

func TestAboveLeavesFilesAlone(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, terminal := range []bool{true, false} {
		p := NewProgress(io.Discard, terminal, nil)
		if w := p.Above(f); w != io.Writer(f) {
			t.Errorf("a file is routed through a bar: %T", w)
		}
		p.Close()
	}
}
