package simulation

import (
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/fleet/placement"
	"assay/internal/platform"

	"pgregory.net/rapid"
)

var samples = sync.OnceValues(func() ([]Sample, error) {
	files, err := filepath.Glob("../../../tables/*.jsonl.br")
	if err != nil {
		return nil, err
	}
	return Samples(files)
})

// TestPlacement: on workloads of the published journals placement ends within 1.15 of what is
// possible at best, in the median, and where durations are known never later than first come, first
// served. Where a fifth of the durations is a guess that may happen: nobody can tell which of
// the unknown tasks is the long one.
func TestPlacement(t *testing.T) {
	t.Parallel()
	all, err := samples()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Settings() {
		workloads := 100
		switch {
		case s.Tasks > 1000:
			continue // bench has it
		case s.Tasks == 1000 && s.New > 0:
			workloads = 50 // and all of these
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var outcomes []Outcome
			for seed := range uint64(workloads) {
				o, err := s.Try(all, seed)
				if err != nil {
					t.Fatal(err)
				}
				outcomes = append(outcomes, o)
			}
			got := Summarise(outcomes)
			t.Logf("%+v", got)
			if got.Median > 1.15 || got.Worse > 0 && s.New == 0 || got.Worse > workloads/25 {
				t.Errorf("%s: median %.3f of the bound, later than first come, first served on %d of %d", s, got.Median, got.Worse, got.Workloads)
			}
		})
	}
}

// wrong is a policy that breaks a rule.
type wrong struct{ next func(worker int) (int, bool) }

func (w wrong) Next(_ time.Time, worker int) (int, bool) { return w.next(worker) }
func (w wrong) Done(int, int)                            {}

// TestRunWatches: a policy that breaks a rule is found out.
func TestRunWatches(t *testing.T) {
	t.Parallel()
	cpu, cuda := platform.Target{Platform: platform.CPU}.Normal(), platform.Target{Platform: platform.CUDA}.Normal()
	load := &Workload{
		Workers: []placement.Worker{{ID: "a", Slots: 2, Targets: []placement.Target{{Target: cpu}}}},
		Jobs: []Job{
			{Task: placement.Task{ID: "0", Needs: placement.Needs{Target: cpu}}, Takes: 1},
			{Task: placement.Task{ID: "1", Needs: placement.Needs{Target: cpu}, Timed: true}, Takes: 1},
			{Task: placement.Task{ID: "2", Needs: placement.Needs{Target: cuda}}, Takes: 1},
		},
	}
	given := func(jobs ...int) wrong {
		return wrong{func(int) (int, bool) {
			if len(jobs) == 0 {
				return 0, false
			}
			j := jobs[0]
			jobs = jobs[1:]
			return j, true
		}}
	}
	for _, c := range []struct {
		policy Policy
		says   string
	}{
		{given(0, 0), "begun twice on"},
		{given(2), "cannot run it"},
		{given(0, 1), "beside 1 others"},
		{given(0), "left 2 of 3"},
	} {
		if _, err := Run(load, c.policy, time.Time{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q, got %v", c.says, err)
		}
	}
}

// small draws a workload that can be solved by trying everything.
func small(t *rapid.T) *Workload {
	targets := []platform.Target{platform.Target{Platform: platform.CPU}.Normal(), platform.Target{Platform: platform.CUDA}.Normal()}
	load := &Workload{}
	for i := range rapid.IntRange(1, 3).Draw(t, "workers") {
		w := placement.Worker{ID: string(rune('a' + i)), Targets: []placement.Target{{Target: targets[0], Speed: rapid.Float64Range(0.2, 2).Draw(t, "speed")}}}
		if i == 0 || rapid.Bool().Draw(t, "cuda") {
			w.Targets = append(w.Targets, placement.Target{Target: targets[1], Speed: rapid.Float64Range(0.2, 2).Draw(t, "speed")})
		}
		load.Workers = append(load.Workers, w)
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "tasks") {
		takes := rapid.Float64Range(0.1, 10).Draw(t, "takes")
		load.Jobs = append(load.Jobs, Job{Task: placement.Task{
			ID: string(rune('0' + i)), Needs: placement.Needs{Target: rapid.SampledFrom(targets).Draw(t, "target")},
			Expect: time.Duration(takes * float64(time.Second)), Timed: rapid.Bool().Draw(t, "timed"),
		}, Takes: takes})
	}
	return load
}

// optimum tries every assignment: with one slot each, order within a worker does not matter.
func optimum(load *Workload, busy []float64, job int, best float64) float64 {
	most := 0.0
	for _, b := range busy {
		most = max(most, b)
	}
	if most >= best {
		return best
	}
	if job == len(load.Jobs) {
		return most
	}
	for w := range busy {
		if s, ok := load.seconds(job, w); ok {
			busy[w] += s
			best = optimum(load, busy, job+1, best)
			busy[w] -= s
		}
	}
	return best
}

// TestBound: the bound is below the optimum, and placement above it.
func TestBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		load := small(t)
		bound, best := Bound(load), optimum(load, make([]float64, len(load.Workers)), 0, math.Inf(1))
		if bound > best*(1+1e-9) {
			t.Fatalf("the bound %v is above the optimum %v", bound, best)
		}
		got, err := Run(load, NewPlanned(load), time.Unix(1e9, 0))
		if err != nil || got.Seconds < best*(1-1e-6) {
			t.Fatalf("placement took %v, the optimum is %v: %v", got, best, err)
		}
	})
}

// TestBoundIsTight: where tasks are small the bound is nearly reached.
func TestBoundIsTight(t *testing.T) {
	t.Parallel()
	cpu, cuda := platform.Target{Platform: platform.CPU}.Normal(), platform.Target{Platform: platform.CUDA}.Normal()
	load := &Workload{Workers: []placement.Worker{
		{ID: "a", Slots: 4, Targets: []placement.Target{{Target: cpu}, {Target: cuda}}},
		{ID: "b", Slots: 2, Targets: []placement.Target{{Target: cpu, Speed: 0.5}}},
	}}
	for i := range 1000 {
		target := cpu
		if i%2 == 0 {
			target = cuda
		}
		load.Jobs = append(load.Jobs, Job{Task: placement.Task{ID: string(rune(i + 256)), Needs: placement.Needs{Target: target}, Expect: time.Second}, Takes: 1})
	}
	want := 1000.0 / (4 + 1) // slots times speed
	if bound := Bound(load); bound < want*0.99 || bound > want*1.0001 {
		t.Errorf("the bound is %v, want %v", bound, want)
	}
	if got, err := Run(load, NewPlanned(load), time.Unix(1e9, 0)); err != nil || got.Seconds > want*1.03 {
		t.Errorf("placement took %v, want %v: %v", got, want, err)
	}
}
