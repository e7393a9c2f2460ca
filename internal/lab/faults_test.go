package lab

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// dying reports points until it comes to a batch, then dies without a word.
func dying(at int, how runner.Exit) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		for i, p := range job.Points {
			if p.Batch == at {
				return how, nil
			}
			on(runner.PointDone{Index: i, Report: goodReport(job)})
		}
		return runner.Exit{}, nil
	}
}

func sweep(timing cell.Timing) cell.Plan {
	return cell.Plan{Timing: timing, NoAdapt: true, Strict: true, Cells: []cell.Cell{{Type: "x"}, {Type: "x", Batch: 2}, {Type: "x", Batch: 4}}}
}

// A child that dies costs the point it was at: what it reported stands, and
// what came behind is tried in another child.
func TestADeathCostsOnlyItsPoint(t *testing.T) {
	t.Parallel()
	for _, timing := range []cell.Timing{cell.Functional, cell.Quick} {
		crash := dying(2, runner.Exit{Signal: 11})
		s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
			if timing == cell.Quick && job.Kind == runner.CheckJob {
				return good(n, job, on)
			}
			return crash(n, job, on)
		}}
		rs, _, err := carry(t, s, bench{}, sweep(timing))
		if err != nil || len(rs) != 3 {
			t.Fatalf("%s: %d results, %v", timing, len(rs), err)
		}
		if rs[0].Verdict != cell.Works || rs[2].Verdict != cell.Works {
			t.Errorf("%s: %s and %s, want both to work", timing, rs[0].Verdict, rs[2].Verdict)
		}
		if rs[1].Verdict != cell.Fails || rs[1].Failure.Class != cell.Crash {
			t.Errorf("%s: %s, %+v", timing, rs[1].Verdict, rs[1].Failure)
		}
		if timing == cell.Quick && (rs[0].Latency.Repeats != 3 || rs[2].Latency.Repeats != 3) {
			t.Errorf("%d and %d repeats, want 3 each", rs[0].Latency.Repeats, rs[2].Latency.Repeats)
		}
	}
}

// A machine that breaks under a repeat is not a failure of the model.
func TestALostRepeatIsTriedAgain(t *testing.T) {
	t.Parallel()
	lost := 0
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Kind == runner.TimeJob && lost == 0 {
			lost++
			return runner.Exit{}, &runner.LostError{Why: "killed", Started: true}
		}
		return good(n, job, on)
	}}
	rs, _, err := carry(t, s, bench{}, cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{{Type: "x"}}})
	if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Works || rs[0].Latency.Repeats != 3 {
		t.Fatalf("%+v, %v", rs, err)
	}
	runs := 0
	s = &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Kind == runner.TimeJob {
			if runs++; runs > 1 {
				return runner.Exit{}, &runner.LostError{Why: "killed", Started: true}
			}
		}
		return good(n, job, on)
	}}
	rs, _, err = carry(t, s, bench{}, cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{{Type: "x"}}})
	if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Works || rs[0].Latency.Repeats != 1 || !strings.Contains(rs[0].Note, "1 repeat only") {
		t.Fatalf("%+v, %v", rs, err)
	}
}

// What was finished before the user stopped is kept.
func TestStoppingKeepsWhatWasFinished(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if n == 1 {
			on(runner.PointDone{Index: 0, Report: goodReport(job)})
			index := 1
			on(runner.Failure{Index: &index, Type: "builtins.ValueError", Message: "no"})
			return runner.Exit{Status: 1}, nil
		}
		cancel(stopped)
		return runner.Exit{Killed: "cancelled"}, nil
	}}
	p, err := sweep(cell.Functional).Normal()
	if err != nil {
		t.Fatal(err)
	}
	var obs notes
	l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 1, Limit: 1 << 40}
	if err := l.Carry(ctx, p, &obs); !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
	if len(obs.results) != 2 {
		t.Errorf("%d results were kept, want those of batch 1 and 2", len(obs.results))
	}
}

// A model that silently runs on the CPU does not work on the GPU.
func TestPlacementIsProven(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "x", Platform: platform.CUDA}.Normal()
	passed := &cell.Numerics{Pass: true}
	for name, tc := range map[string]struct {
		placement cell.Placement
		want      cell.Verdict
	}{
		"on the device":     {cell.Placement{Device: "cuda:0", Nodes: map[string]int{"cuda:0": 40}}, cell.Works},
		"partly":            {cell.Placement{Device: "cuda:0", Nodes: map[string]int{"cuda:0": 40, "cpu": 3}}, cell.Partial},
		"not at all":        {cell.Placement{Device: "cpu", Nodes: map[string]int{"cpu": 900}}, cell.Fails},
		"parameters astray": {cell.Placement{Device: "cpu,cuda:0", Nodes: map[string]int{"cuda:0": 40}}, cell.Partial},
	} {
		if got, note, f := verdict(c, runner.Report{Numerics: passed, Placement: &tc.placement}); got != tc.want {
			t.Errorf("%s: %s (%s, %+v), want %s", name, got, note, f, tc.want)
		}
	}
}

// Five absent platforms fall back to one CPU, and two to that of a browser:
// each cell runs once.
func TestFallbacksToOneCellRunItOnce(t *testing.T) {
	t.Parallel()
	p := cell.Plan{}
	for _, name := range platform.Names() {
		p.Cells = append(p.Cells, cell.Cell{Type: "x", Platform: name, DType: platform.FP32})
	}
	s := &script{do: good}
	rs, _, err := carry(t, s, bench{}, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.jobs) != 2 || len(s.jobs[0].Points) != 1 || len(s.jobs[1].Points) != 1 || len(rs) != 9 {
		t.Errorf("%d children, %d results; want 2 children, and 7 unavailable results beside the CPU's two", len(s.jobs), len(rs))
	}
}

func TestAPointThatWasNotAskedForFailsTheJob(t *testing.T) {
	t.Parallel()
	s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		on(runner.PointDone{Index: 7, Report: goodReport(job)})
		return runner.Exit{}, nil
	}}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x"}))
	if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Fails {
		t.Fatalf("%+v, %v", rs, err)
	}
}

// A size that the model has not must not label its result.
func TestASizeWithoutEffectIsDropped(t *testing.T) {
	t.Parallel()
	s := &script{do: good}
	rs, obs, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x", Image: 7, Seq: 32}))
	if err != nil || len(rs) != 1 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	if rs[0].Cell.Image != 0 || rs[0].Cell.Seq != 32 || s.jobs[0].Points[0].Image != 0 || len(obs.notes) != 1 {
		t.Errorf("cell %+v, point %+v, notes %q", rs[0].Cell, s.jobs[0].Points[0], obs.notes)
	}
}

// A cell that asks for what its model cannot have says nothing about the model: it
// is unavailable, nothing is measured of it, and it is not timed.
func TestWhatAModelCannotHaveIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, timing := range []cell.Timing{cell.Functional, cell.Quick} {
		s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
			if job.Kind != runner.CheckJob {
				t.Errorf("%s: a job %s followed", timing, job.Kind)
			}
			on(runner.Failure{Type: "assay_runner.errors.Unsuited", Message: "BertForMaskedLM generates no text"})
			return runner.Exit{Status: 1}, nil
		}}
		rs, _, err := carry(t, s, bench{}, cell.Plan{Timing: timing, Cells: []cell.Cell{{Type: "bert", Mode: cell.Generate}}})
		if err != nil || len(rs) != 1 {
			t.Fatalf("%s: %d results, %v", timing, len(rs), err)
		}
		r := rs[0]
		if r.Verdict != cell.Unavailable || r.Evidence != cell.None || r.Actual != nil || r.Suits() {
			t.Errorf("%s: %s, %s, ran as %+v, suits %t", timing, r.Verdict, r.Evidence, r.Actual, r.Suits())
		}
		if r.Note != "BertForMaskedLM generates no text" || r.Failure.Hint == "" {
			t.Errorf("%s: note %q, failure %+v", timing, r.Note, r.Failure)
		}
	}
}

// What never ran is known from the parameter count or not at all.
func TestWhatNeverRanIsNoEvidence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		failure cell.Failure
		want    cell.Evidence
		verdict cell.Verdict
	}{
		{cell.Failure{Class: cell.OutOfMemory}, cell.Derived, cell.Fails},
		{cell.Failure{Class: cell.MissingWeights}, cell.None, cell.Fails},
		{cell.Failure{Class: cell.ModelError}, cell.None, cell.Fails},
		{cell.Failure{Class: cell.Environment}, cell.None, cell.Unknown},
	} {
		c, a := &carrying{Lab: &Lab{}}, &attempt{}
		c.fail(a, tc.failure)
		if a.result.Evidence != tc.want || a.result.Verdict != tc.verdict {
			t.Errorf("%s: %s, %s, want %s, %s", tc.failure.Class, a.result.Verdict, a.result.Evidence, tc.verdict, tc.want)
		}
	}
}

// A disk that is full says nothing about the model: neither in the check nor in a
// timed repeat of what had worked.
func TestAFullDiskIsUnknown(t *testing.T) {
	t.Parallel()
	full := raise(nil, "OSError", "[Errno 28] No space left on device")
	for _, kind := range []runner.JobKind{runner.CheckJob, runner.TimeJob} {
		s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
			if job.Kind == kind {
				return full(n, job, on)
			}
			return good(n, job, on)
		}}
		rs, _, err := carry(t, s, bench{}, cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{{Type: "x"}}})
		if err != nil || len(rs) != 1 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if r := rs[0]; r.Verdict != cell.Unknown || r.Evidence != cell.None || r.Failure == nil || r.Failure.Class != cell.Environment {
			t.Errorf("%s: %s, %s, %+v", kind, r.Verdict, r.Evidence, r.Failure)
		}
	}
}

// What Assay itself cannot do is not a failure of the platform's: nothing was
// measured, and another platform may do it.
func TestBeyondAssayIsNoFailure(t *testing.T) {
	t.Parallel()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Cell.Platform == platform.OpenVINO {
			return raise(nil, "assay_runner.errors.BeyondAssay", "the model is run as several calls")(n, job, on)
		}
		return good(n, job, on)
	}}
	rs, _, err := carry(t, s, everyCPU{}, cells(cell.Cell{Type: "x", Platform: platform.OpenVINO}))
	if err != nil || len(rs) != 2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	if r := rs[0]; r.Verdict != cell.Unavailable || r.Evidence != cell.None || r.Failure.Class != cell.BeyondAssay || r.Note != "the model is run as several calls" || r.Fallback.To != "cpu" {
		t.Errorf("%s, %s, %q, %+v", r.Verdict, r.Evidence, r.Note, r.Failure)
	}
	if rs[1].Verdict != cell.Works {
		t.Errorf("elsewhere: %s", rs[1].Verdict)
	}
}
