package lab

import (
	"context"
	"encoding/json"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// used is a runner's child that has carried jobs out before, where it may.
func used(before int, do func(int, runner.Job, func(runner.Event)) (runner.Exit, error)) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Reuse == "" {
			before = 0
		}
		on(runner.Started{PID: 1, PGID: 1, Before: before})
		return do(n, job, on)
	}
}

// TestOnlyTinyChecksOnGPUsShareAChild: a context is dear for them alone, and a
// timed repeat is always a fresh child.
func TestOnlyTinyChecksOnGPUsShareAChild(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cell cell.Cell
		want string
	}{
		{cell.Cell{Type: "x", Platform: platform.CUDA}, "cuda"},
		{cell.Cell{Type: "x", Platform: platform.CUDA, Device: "1"}, "cuda:1"},
		{cell.Cell{Type: "x", Platform: platform.CPU}, ""},
		{cell.Cell{Type: "x", Platform: platform.CUDA, Size: cell.Full}, ""},
	} {
		for _, timing := range []cell.Timing{cell.Functional, cell.Quick} {
			s := &script{do: used(0, good)}
			plan := cells(tt.cell)
			plan.Timing = timing
			if _, _, err := carry(t, s, bench{gpu: true}, plan); err != nil {
				t.Fatal(err)
			}
			for _, job := range s.jobs {
				want := tt.want
				if job.Kind != runner.CheckJob {
					want = ""
				}
				if job.Reuse != want {
					t.Errorf("%s of %+v shares children %q, want %q", job.Kind, tt.cell, job.Reuse, want)
				}
			}
		}
	}
	if got := reuse(cell.Cell{Type: "x", Platform: platform.CUDA}.Normal(), Recipe{Weights: &runner.Weights{}}); got != "" {
		t.Errorf("a model with given weights shares children %q", got)
	}
}

// TestNoModelPaysForAnother: what does not work in a child that did others
// before is done again alone, and that is its result; what does not work in a
// fresh child is its own.
func TestNoModelPaysForAnother(t *testing.T) {
	t.Parallel()
	wrong := func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		b, _ := json.Marshal(map[string]any{"finite": false})
		on(runner.PointDone{Index: 0, Report: b})
		return runner.Exit{}, nil
	}
	crash := func(int, runner.Job, func(runner.Event)) (runner.Exit, error) { return runner.Exit{Signal: 11}, nil }
	for name, bad := range map[string]func(int, runner.Job, func(runner.Event)) (runner.Exit, error){
		"wrong numbers": wrong, "a crash": crash, "an exception": raise(nil, "RuntimeError", "CUDA error"),
	} {
		for _, tt := range []struct {
			before, jobs int
			want         cell.Verdict
		}{{3, 2, cell.Works}, {0, 1, cell.Fails}} {
			s := &script{do: used(tt.before, func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
				if job.Reuse != "" {
					return bad(n, job, on)
				}
				return good(n, job, on)
			})}
			rs, _, err := carry(t, s, bench{gpu: true}, cells(cell.Cell{Type: "x", Platform: platform.CUDA}))
			if err != nil || len(s.jobs) != tt.jobs || rs[0].Verdict != tt.want || rs[0].Attempts != 1 {
				t.Errorf("%s after %d jobs: %d children, %v, %+v", name, tt.before, len(s.jobs), err, rs)
			}
		}
	}
}

// TestEveryJobHasItsShare: no child takes more threads than its part of the
// cores, whatever it is asked to do.
func TestEveryJobHasItsShare(t *testing.T) {
	t.Parallel()
	s := &script{do: good}
	plan := cells(cell.Cell{Type: "x"}, cell.Cell{Type: "y"}, cell.Cell{Type: "x", Platform: platform.CUDA}, cell.Cell{Type: "x", Threads: 3})
	p, err := plan.Normal()
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Runner: s, Recipes: recipes{}, Machine: sixteen{}, Workers: 8, Limit: 1 << 40}
	if err := l.Carry(context.Background(), p, &notes{}); err != nil {
		t.Fatal(err)
	}
	for _, job := range s.jobs {
		want := 2
		switch {
		case job.Cell.Threads > 0:
			want = job.Cell.Threads
		case job.Cell.Platform == platform.CUDA:
			want = 1 // nothing is known about the device's
		}
		if job.Threads != want {
			t.Errorf("%s of %s on %s has %d threads, want %d", job.Kind, job.Cell.Type, job.Cell.Target, job.Threads, want)
		}
	}
}

// sixteen is a machine of sixteen cores and a GPU.
type sixteen struct{ bench }

func (sixteen) Presence(t platform.Target) Presence {
	if t.Platform == platform.CUDA {
		return Presence{Present: true}
	}
	return Presence{Present: true, Threads: 16}
}
