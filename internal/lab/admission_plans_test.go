package lab

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// together runs plans at the same time, by labs that are alike except for
// what change does to them, and returns how many children ran in parallel.
func together(t *testing.T, plans []cell.Plan, change func(i int, l *Lab)) int32 {
	t.Helper()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		time.Sleep(time.Minute) // long enough for any other to join
		return good(n, job, on)
	}}
	var wg sync.WaitGroup
	for i, p := range plans {
		p, err := p.Normal()
		if err != nil {
			t.Fatal(err)
		}
		l := &Lab{Runner: s, Recipes: sized{}, Machine: pretending{}, Workers: 2, Limit: time.Hour}
		change(i, l)
		wg.Go(func() {
			var obs notes
			if err := l.Carry(t.Context(), p, &obs); err != nil || len(obs.results) != len(p.Cells) {
				t.Errorf("plan %d: %d results, %v", i, len(obs.results), err)
			}
		})
	}
	wg.Wait()
	return s.most.Load()
}

// TestPlansShareWorkersAndMemory: two plans at once have no more than one alone,
// unless each has an admission of its own.
func TestPlansShareWorkersAndMemory(t *testing.T) {
	t.Parallel()
	small := func(types ...string) (p cell.Plan) {
		for _, name := range types {
			p.Cells = append(p.Cells, cell.Cell{Type: name, Target: "cuda"})
		}
		return p
	}
	large := func(name string) cell.Plan { return cells(cell.Cell{Type: name, Target: "openvino"}) } // more than half of the memory
	for name, tt := range map[string]struct {
		plans       []cell.Plan
		shared, own int32
	}{
		"workers": {[]cell.Plan{small("a", "b", "c"), small("d", "e", "f")}, 2, 4},
		"memory":  {[]cell.Plan{large("a"), large("b")}, 1, 2},
	} {
		for _, shares := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				one, want := NewAdmission(2), tt.own
				if shares {
					want = tt.shared
				}
				got := together(t, tt.plans, func(_ int, l *Lab) {
					if shares {
						l.Admission = one
					}
				})
				if got != want {
					t.Errorf("%s, shared %t: %d children in parallel, want %d", name, shares, got, want)
				}
			})
		}
	}
}

// TestATimedJobWaitsForOtherPlans: while a repeat is timed no job of another
// plan runs, and the other way round.
func TestATimedJobWaitsForOtherPlans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running := map[runner.JobKind]int{}
		s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
			mu.Lock()
			running[job.Kind]++
			if timed := running[runner.TimeJob]; timed > 1 || timed == 1 && running[runner.CheckJob] > 0 {
				t.Errorf("running at once: %v", running)
			}
			mu.Unlock()
			time.Sleep(time.Duration(n%3+1) * time.Minute)
			mu.Lock()
			running[job.Kind]--
			mu.Unlock()
			return good(n, job, on)
		}}
		one := NewAdmission(2)
		var wg sync.WaitGroup
		for i, timing := range []cell.Timing{cell.Quick, cell.Functional, cell.Quick} {
			p := cells(cell.Cell{Type: "a", Seed: i}, cell.Cell{Type: "b", Seed: i}, cell.Cell{Type: "c", Seed: i})
			p.Timing = timing
			p, err := p.Normal()
			if err != nil {
				t.Fatal(err)
			}
			l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 2, Admission: one, Limit: time.Hour}
			wg.Go(func() {
				if err := l.Carry(t.Context(), p, &notes{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// TestFreeMemoryIsAskedForWhileNothingRuns: what the jobs under way hold is
// counted already, and must not be taken off twice.
func TestFreeMemoryIsAskedForWhileNothingRuns(t *testing.T) {
	t.Parallel()
	a := NewAdmission(4)
	is := func(n int64) func() int64 { return func() int64 { return n } }
	if got := a.learn(is(100), nil); got != 100 {
		t.Errorf("%d bytes at the beginning", got)
	}
	release, err := a.acquire(t.Context(), need{silicon: "cpu", hostBytes: 60})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.learn(is(40), nil); got != 100 || !a.fits(need{hostBytes: 40}) || a.fits(need{hostBytes: 41}) {
		t.Errorf("%d bytes while a job holds 60 of 100", got)
	}
	release()
	if got := a.learn(is(70), nil); got != 70 {
		t.Errorf("%d bytes when 70 are free and nothing runs", got)
	}
}

// TestAnotherMachinesDevicesAreItsOwn: what guests hold in their GPU's memory is
// not taken from this machine's, whose memory they share anyway.
func TestAnotherMachinesDevicesAreItsOwn(t *testing.T) {
	t.Parallel()
	plan := func(name string) cell.Plan { return cells(cell.Cell{Type: name, Target: "cuda", Size: cell.Full}) }
	for _, guest := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			one, want := NewAdmission(2), int32(1)
			if guest {
				want = 2
			}
			got := together(t, []cell.Plan{plan("a"), plan("b")}, func(i int, l *Lab) {
				l.Admission, l.Machine = one, tight{}
				if guest && i == 1 {
					l.Of = "phone/"
				}
			})
			if got != want {
				t.Errorf("guest %t: %d children in parallel, want %d", guest, got, want)
			}
		})
	}
}

// tight is a machine whose GPU holds one model of 150 million parameters.
type tight struct{ pretending }

func (tight) Presence(platform.Target) Presence {
	return Presence{Present: true, Threads: 1, MemoryBytes: 1 << 30}
}
