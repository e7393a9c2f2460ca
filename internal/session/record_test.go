package session

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/journal"
	"assay/internal/progress"

	"github.com/google/go-cmp/cmp"
)

// watching counts what a printer hears.
type watching struct {
	planned, started int
	finished         []cell.Result
}

func (w *watching) Hear(e progress.Event) error {
	switch e.Kind {
	case progress.KindPlanned:
		w.planned = e.Cells
	case progress.KindStarted:
		w.started++
	case progress.KindFinished:
		w.finished = append(w.finished, *e.Result)
	}
	return nil
}

// bareOnly are environments of which only the bare one is there.
type bareOnly struct{ Chosen }

func (bareOnly) Python(context.Context) (environment.Environment, error) {
	return environment.Environment{}, errors.New("no environment here")
}

// bareSession runs no-ops with any Python, its files in a folder of the test.
func bareSession(t *testing.T, change ...func(*Options)) *Session {
	t.Helper()
	home := t.TempDir()
	vars := append(os.Environ(), "ASSAY_HOME="+home)
	folders, err := environment.FindFolders(func(name string) string {
		if name == "ASSAY_HOME" {
			return home
		}
		return os.Getenv(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := folders.Create(); err != nil {
		t.Fatal(err)
	}
	m := environment.New(folders, vars, func(string) {})
	o := Options{Environments: bareOnly{Chosen{Maker: m}}, Catalog: load(t), Folders: folders, Version: "test"}
	for _, f := range change {
		f(&o)
	}
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func noops(t *testing.T, tasks ...string) cell.Plan {
	t.Helper()
	var p cell.Plan
	for _, task := range tasks {
		p.Cells = append(p.Cells, cell.Cell{Type: "noop", Engine: "noop", Task: task})
	}
	p, err := p.Normal()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRecord: each result is in the journal before anyone hears of it.
func TestRecord(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	plan := noops(t, "nothing", "raise", "silent")
	if err := s.Ready(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out.jsonl")
	h := s.Header(plan, "worker")
	if h.Run.Command != "worker" || h.Run.PlanHash != plan.Hash() || h.Run.Assay != "test" || h.Host.ID == "" {
		t.Errorf("header %+v", h)
	}
	j, err := journal.CreateFile(path, h)
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{}
	results, err := s.Record(t.Context(), plan, j, w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(results, w.finished); diff != "" || len(results) != 3 || w.planned != 3 || w.started != 3 {
		t.Errorf("%d results, the listener heard of %d planned, %d started: %s", len(results), w.planned, w.started, diff)
	}
	kinds := kindsIn(t, path)
	if want := []journal.Kind{journal.KindResult, journal.KindResult, journal.KindResult, journal.KindEnd}; !cmp.Equal(kinds, want) {
		t.Errorf("the journal holds %v", kinds)
	}
	if _, ok := s.Detected(); ok {
		t.Error("a plan of no-ops asked for a full detection")
	}
}

func kindsIn(t *testing.T, path string) []journal.Kind {
	t.Helper()
	r, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []journal.Kind
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Kind)
	}
}

// TestRecordStopped: a plan that is stopped keeps what was finished, and its
// journal has no end.
func TestRecordStopped(t *testing.T) {
	t.Parallel()
	s := bareSession(t, func(o *Options) { o.Workers = 1 })
	plan := noops(t, "nothing", "hang")
	path := filepath.Join(t.TempDir(), "out.jsonl")
	j, err := journal.CreateFile(path, s.Header(plan, "test"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	results, err := s.Record(ctx, plan, j, progress.Func(func(e progress.Event) error {
		if e.Kind == progress.KindFinished {
			cancel(ErrInterrupted)
		}
		return nil
	}))
	if !errors.Is(err, ErrInterrupted) || len(results) != 1 {
		t.Errorf("%d results, %v", len(results), err)
	}
	if kinds := kindsIn(t, path); !cmp.Equal(kinds, []journal.Kind{journal.KindResult}) {
		t.Errorf("the journal holds %v", kinds)
	}
}

// TestReady: a plan that needs torch says what is missing before anything is begun.
func TestReady(t *testing.T) {
	t.Parallel()
	s := bareSession(t)
	plan, err := cell.Plan{Cells: []cell.Cell{{Type: "noop", Engine: "noop"}, {Type: "bert"}}}.Normal()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context(), plan); err == nil || err.Error() != "no environment here" {
		t.Errorf("got %v", err)
	}
	if _, err := s.Report(t.Context()); err == nil {
		t.Error("detection's second pass ran without an environment")
	}
	if _, err := s.Versions(t.Context()); err == nil {
		t.Error("versions were found without an environment")
	}
}
