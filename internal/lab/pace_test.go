package lab

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/cell"
	"assay/internal/runner"
)

// slow reports every point as right and as slow as a large model on two cores:
// two seconds to load, and so long an inference.
func slow(firstMS float64) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		for i := range job.Points {
			var r map[string]any
			_ = json.Unmarshal(goodReport(job), &r)
			r["phases_ms"] = map[string]float64{"build": 2000, inference(job): firstMS}
			b, _ := json.Marshal(r)
			on(runner.PointDone{Index: i, Report: b})
		}
		return runner.Exit{}, nil
	}
}

// A model that takes long keeps its repeats, on which the interval rests, and
// takes fewer samples in each; how long that will take is said first.
func TestLongModelsKeepTheirRepeats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		firstMS float64
		most    float64 // seconds of samples a repeat
		said    string
	}{
		{3, 60, ""},
		{500, 60, "timing 1 cell takes about 4 min: 6 repeats of each"},
		{1100, 47, "timing 1 cell takes about 6 min: 6 repeats of each"},
		{30_000, 60, "timing 1 cell takes about 8 min: 6 repeats of each"},
	} {
		s := &script{do: slow(tc.firstMS)}
		rs, obs, err := carry(t, s, bench{}, cell.Plan{Timing: cell.Thorough, Cells: []cell.Cell{{Type: "x"}}})
		if err != nil || len(rs) != 1 || rs[0].Latency == nil {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if l := rs[0].Latency; l.Repeats != 6 || l.LoMS == nil {
			t.Errorf("%g ms: %d repeats, interval from %v", tc.firstMS, l.Repeats, l.LoMS)
		}
		for _, j := range s.jobs {
			if j.Kind == runner.TimeJob && (j.Timing.MaxS > tc.most || j.Timing.MaxS < tc.most-1) {
				t.Errorf("%g ms: a repeat samples for %g s, want %g", tc.firstMS, j.Timing.MaxS, tc.most)
			}
		}
		if cut := tc.most != 60; strings.Contains(rs[0].Note, "fewer samples per repeat") != cut {
			t.Errorf("%g ms: the note is %q", tc.firstMS, rs[0].Note)
		}
		if said := strings.Join(obs.notes, "\n"); said == "" != (tc.said == "") || !strings.Contains(said, tc.said) {
			t.Errorf("%g ms: said %q, want %q", tc.firstMS, said, tc.said)
		}
	}
}

// Times taken while other programs work are not stable.
func TestBusyMachineIsMarked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		load Load
		busy bool
	}{
		{Load{}, false},
		{Load{Cores: 0.2, OfAll: 2, known: true}, false},
		{Load{Cores: 1.9, OfAll: 2, known: true}, true},
		{Load{Cores: 1.4, OfAll: 16, known: true}, false},
		{Load{Cores: 4, OfAll: 16, known: true}, true},
	} {
		s := &script{do: good}
		obs := &notes{}
		l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: 1 << 40, Others: func(context.Context) Load { return tc.load }}
		p, err := cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{{Type: "x"}}}.Normal()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Carry(t.Context(), p, obs); err != nil {
			t.Fatal(err)
		}
		r := obs.results[0]
		if got := !r.Latency.Stable && strings.Contains(r.Latency.Why, "the machine was busy"); got != tc.busy {
			t.Errorf("%+v: stable %t, %q", tc.load, r.Latency.Stable, r.Latency.Why)
		}
		if got := strings.Contains(strings.Join(obs.notes, "\n"), "warning: the machine was busy"); got != tc.busy {
			t.Errorf("%+v: said %q", tc.load, obs.notes)
		}
	}
}

// A busy machine is waited for as long as the plan says, and no longer.
func TestWaitsForAQuietMachine(t *testing.T) {
	t.Parallel()
	loaded := Load{Cores: 1.9, OfAll: 2, known: true}
	for _, tc := range []struct {
		name        string
		wait        float64
		busyFor     time.Duration
		busy, asked bool
	}{
		{"quiet at once", 60, 0, false, false},
		{"quiet later", 60, 15 * time.Second, false, true},
		{"never quiet", 60, time.Hour, true, true},
		{"not waited for", 0, 15 * time.Second, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s, obs := &script{do: good}, &notes{}
			l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: 1 << 40, Others: func(context.Context) Load {
				if time.Since(began) < tc.busyFor {
					return loaded
				}
				return Load{}
			}}
			p, err := cell.Plan{Timing: cell.Quick, Repeats: 1, WaitQuietS: tc.wait, Cells: []cell.Cell{{Type: "x"}}}.Normal()
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Carry(t.Context(), p, obs); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(obs.results[0].Latency.Why, "the machine was busy"); got != tc.busy {
				t.Errorf("%s: %q", tc.name, obs.results[0].Latency.Why)
			}
			if got := strings.Contains(strings.Join(obs.notes, "\n"), "waiting for a quiet machine, up to 1m0s"); got != tc.asked {
				t.Errorf("%s: said %q", tc.name, obs.notes)
			}
			if took := time.Since(began); took > 75*time.Second || tc.wait == 0 && took > time.Second {
				t.Errorf("%s: took %s", tc.name, took)
			}
		})
	}
}

// Timed children are held to the plan's processors, and compute with as many
// threads; a check is not.
func TestPinning(t *testing.T) {
	t.Parallel()
	var jobs []runner.Job
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		jobs = append(jobs, job)
		return good(n, job, on)
	}}
	obs := &notes{}
	l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 1, Limit: 1 << 40}
	p, err := cell.Plan{Timing: cell.Quick, Repeats: 1, Pin: "3,1", Cells: []cell.Cell{{Type: "x"}}}.Normal()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Carry(t.Context(), p, obs); err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		timed := job.Kind == runner.TimeJob
		if slices.Equal(job.Pin, []int{1, 3}) != timed || timed && job.Threads > 2 {
			t.Errorf("%s: processors %v, %d threads", job.Kind, job.Pin, job.Threads)
		}
	}
	if got := obs.results[0].Context.Pinned; got != "3,1" {
		t.Errorf("the result says it was pinned to %q", got)
	}
}

// The kernel's own counts are read, where there are any.
func TestOthersReadsTheKernel(t *testing.T) {
	t.Parallel()
	if _, _, cores, ok := ticks(); ok {
		if l := Others(t.Context()); !l.known || l.OfAll != cores || l.Cores < 0 || l.Cores > float64(cores)+0.01 {
			t.Errorf("%+v of %d cores", l, cores)
		}
	}
}
