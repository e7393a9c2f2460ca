package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/runner"
)

// script is a runner whose children do what a function says. It is safe for
// concurrent use and counts what ran at once.
type script struct {
	do func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error)

	mu      sync.Mutex
	jobs    []runner.Job
	running atomic.Int32
	most    atomic.Int32
}

func (s *script) Run(ctx context.Context, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
	now := s.running.Add(1)
	defer s.running.Add(-1)
	for {
		most := s.most.Load()
		if now <= most || s.most.CompareAndSwap(most, now) {
			break
		}
	}
	s.mu.Lock()
	s.jobs = append(s.jobs, job)
	n := len(s.jobs)
	s.mu.Unlock()
	if ctx.Err() != nil {
		return runner.Exit{Killed: "cancelled"}, nil
	}
	return s.do(n, job, on)
}

// good reports every point as right.
func good(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
	for i := range job.Points {
		on(runner.PointDone{Index: i, Report: goodReport(job)})
	}
	return runner.Exit{}, nil
}

// inference is the phase of a job's first inference, as docs/protocol.md has it.
func inference(job runner.Job) string {
	if job.Kind == runner.TimeJob {
		return "first"
	}
	return "run"
}

func goodReport(job runner.Job) json.RawMessage {
	r := map[string]any{"subject_hash": "s", "parameters": 100, "finite": true, "constant": false, "phases_ms": map[string]float64{inference(job): 3}}
	if job.Kind == runner.CheckJob {
		r["numerics"] = cell.Numerics{MaxRel: new(1e-6), Tolerance: 1e-3, Reference: "cpu fp64", Pass: true, Control: &cell.Control{Kind: "zero-attention", Change: new(0.5), Pass: true}}
	} else {
		r["samples_ms"] = []float64{2, 2, 2}
	}
	b, _ := json.Marshal(r)
	return b
}

func raise(index *int, kind string, message string) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(_ int, _ runner.Job, on func(runner.Event)) (runner.Exit, error) {
		on(runner.Failure{Index: index, Type: kind, Message: message})
		return runner.Exit{Status: 1}, nil
	}
}

// bench is a machine with a CPU and, if asked, a GPU.
type bench struct{ gpu bool }

func (b bench) Presence(t platform.Target) Presence {
	switch {
	case t.Platform == platform.CPU:
		return Presence{Present: true, Threads: 2}
	case t.Platform == platform.CUDA && b.gpu:
		return Presence{Present: true, MemoryBytes: 1 << 30}
	}
	return Presence{Reason: "no such device"}
}

func (bench) FreeBytes() int64 { return 4 << 30 }

// recipes has one for every type but "unheard-of".
type recipes struct{}

func (recipes) Recipe(_ context.Context, c cell.Cell) (Recipe, error) {
	if c.Type == "unheard-of" {
		return Recipe{}, errors.New("there is no recipe for unheard-of")
	}
	r := Recipe{JSON: json.RawMessage(`{}`), Class: "XModel", Task: "fill-mask", Parameters: 100, Seq: 16}
	if c.Type == "known" {
		r.Kept, r.KeptOf = &cell.KeptFingerprint{Subject: "abc", Fingerprint: given(0.5)}, "transformers 5.17.0"
	}
	return r, nil
}

// notes is a listener that keeps everything.
type notes struct {
	results []cell.Result
	notes   []string
	fail    error
}

func (n *notes) Hear(e progress.Event) error {
	switch e.Kind {
	case progress.KindFinished:
		n.results = append(n.results, *e.Result)
		return n.fail
	case progress.KindNote:
		n.notes = append(n.notes, e.Text)
	}
	return nil
}

// carry runs a plan over a script and returns what came of it, sorted by batch.
func carry(t *testing.T, s *script, m Machine, p cell.Plan) ([]cell.Result, *notes, error) {
	t.Helper()
	p, err := p.Normal()
	if err != nil {
		t.Fatal(err)
	}
	var obs notes
	l := &Lab{Runner: s, Recipes: recipes{}, Machine: m, Workers: 2, Limit: 1 << 40}
	err = l.Carry(t.Context(), p, &obs)
	slices.SortStableFunc(obs.results, func(a, b cell.Result) int { return a.Cell.Batch - b.Cell.Batch })
	return obs.results, &obs, err
}

func cells(cs ...cell.Cell) cell.Plan { return cell.Plan{Cells: cs} }

func TestOneLoadedModelServesABatchSweep(t *testing.T) {
	t.Parallel()
	s := &script{do: good}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x", Batch: 4}, cell.Cell{Type: "x"}, cell.Cell{Type: "x", Batch: 2}))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.jobs) != 1 || len(s.jobs[0].Points) != 3 {
		t.Fatalf("%d children, the first with %d points", len(s.jobs), len(s.jobs[0].Points))
	}
	for i, batch := range []int{1, 2, 4} {
		r := rs[i]
		if r.Cell.Batch != batch || r.Verdict != cell.Works || r.Evidence != cell.Measured || r.Cell.Class != "XModel" {
			t.Errorf("%+v", r)
		}
		if r.Latency != nil {
			t.Error("a functional run must have no latency")
		}
	}
}

func TestAnAbsentPlatformFallsBack(t *testing.T) {
	t.Parallel()
	s := &script{do: good}
	rs, obs, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x", Platform: platform.CUDA}))
	if err != nil || len(rs) != 2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	asked, ran := rs[0], rs[1]
	if asked.Verdict != cell.Unavailable || asked.Fallback == nil || asked.Fallback.To != "cpu" || asked.Actual != nil || asked.Evidence != cell.None {
		t.Errorf("the asked target's result: %+v", asked)
	}
	if ran.Verdict != cell.Works || ran.Cell.Platform != platform.CPU || ran.Requested.Target != "cuda" || ran.Actual.Target != "cpu" || ran.Fallback.From != "cuda" {
		t.Errorf("the fallback's result: %+v", ran)
	}
	if len(obs.notes) == 0 {
		t.Error("a fallback must be said")
	}
	for name, p := range map[string]cell.Plan{"strict": {Strict: true}, "matrix": {NoFallback: true}} {
		p.Cells = []cell.Cell{{Type: "x", Platform: platform.CUDA}}
		s := &script{do: good}
		rs, _, err := carry(t, s, bench{}, p)
		if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Unavailable || rs[0].Fallback != nil || len(s.jobs) != 0 {
			t.Errorf("%s: %d results, %d children, %v", name, len(rs), len(s.jobs), err)
		}
	}
}

func TestOutOfMemoryLowersBatchThenSizeThenDType(t *testing.T) {
	t.Parallel()
	index := 0
	oom := raise(&index, "torch.OutOfMemoryError", "CUDA out of memory")
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Cell.DType == platform.FP16 {
			return good(n, job, on)
		}
		return oom(n, job, on)
	}}
	rs, _, err := carry(t, s, bench{gpu: true}, cells(cell.Cell{Type: "x", Platform: platform.CUDA, Batch: 2}))
	if err != nil || len(rs) != 1 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	r := rs[0]
	if r.Verdict != cell.Works || r.Requested.Batch != 2 || r.Actual.Batch != 1 || r.Actual.Seq != 8 || r.Actual.DType != "fp16" || r.Attempts != 4 {
		t.Errorf("verdict %s, requested %+v, actual %+v, %d attempts", r.Verdict, r.Requested, r.Actual, r.Attempts)
	}

	s = &script{do: oom}
	rs, _, _ = carry(t, s, bench{gpu: true}, cell.Plan{NoAdapt: true, Strict: true, Cells: []cell.Cell{{Type: "x", Platform: platform.CUDA, Batch: 2}}})
	if len(rs) != 1 || rs[0].Verdict != cell.Fails || rs[0].Failure.Class != cell.OutOfMemory || len(s.jobs) != 1 {
		t.Errorf("--no-adapt: %+v after %d children", rs, len(s.jobs))
	}
}

func TestAFailingPointCostsOnlyItself(t *testing.T) {
	t.Parallel()
	s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		for i, p := range job.Points {
			if p.Batch == 2 {
				on(runner.Failure{Index: &i, Type: "builtins.ValueError", Message: "batch of two"})
				return runner.Exit{Status: 1}, nil
			}
			on(runner.PointDone{Index: i, Report: goodReport(job)})
		}
		return runner.Exit{}, nil
	}}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x"}, cell.Cell{Type: "x", Batch: 2}, cell.Cell{Type: "x", Batch: 4}))
	if err != nil || len(rs) != 3 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	if rs[0].Verdict != cell.Works || rs[1].Verdict != cell.Fails || rs[2].Verdict != cell.Works {
		t.Errorf("%s, %s, %s", rs[0].Verdict, rs[1].Verdict, rs[2].Verdict)
	}
}

func TestATimedPlanChecksThenInterleaves(t *testing.T) {
	t.Parallel()
	s := &script{do: good}
	rs, _, err := carry(t, s, bench{}, cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{{Type: "x"}, {Type: "y"}}})
	if err != nil || len(rs) != 2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	var order []string
	for _, j := range s.jobs {
		if j.Kind == runner.TimeJob {
			order = append(order, j.Cell.Type)
		}
	}
	slices.Sort(order[:2])
	if len(order) != 6 || order[0] == order[1] || order[2] == order[3] || order[4] == order[5] {
		t.Errorf("the repeats ran as %v", order)
	}
	for _, r := range rs {
		if r.Latency == nil || r.Latency.Repeats != 3 || r.Latency.N != 9 || r.Latency.MedianMS != 2 || r.Latency.LoMS != nil || r.Throughput.Value != 500 {
			t.Errorf("latency %+v", r.Latency)
		}
	}
}

func TestACrashIsAResult(t *testing.T) {
	t.Parallel()
	s := &script{do: func(int, runner.Job, func(runner.Event)) (runner.Exit, error) { return runner.Exit{Signal: 11}, nil }}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x"}, cell.Cell{Type: "unheard-of"}))
	if err != nil || len(rs) != 2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		want := map[string]cell.Verdict{"x": cell.Fails, "unheard-of": cell.Unknown}[r.Cell.Type] // of what is not known nothing is said
		if r.Verdict != want || r.Failure.Hint == "" {
			t.Errorf("%s: %s %+v", r.Cell.Type, r.Verdict, r.Failure)
		}
		if r.Cell.Type == "x" && r.Failure.Class != cell.Crash {
			t.Errorf("class %s, want crash", r.Failure.Class)
		}
		if r.Cell.Type == "unheard-of" && (r.Actual != nil || r.Evidence == cell.Measured) {
			t.Error("what never ran claims to be measured")
		}
	}
}

func TestALostRunnerIsTheMachinesFault(t *testing.T) {
	t.Parallel()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if n == 1 {
			return runner.Exit{}, &runner.LostError{Why: "the runner ended with exit status 3"}
		}
		return good(n, job, on)
	}}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x"}))
	if err != nil || len(rs) != 1 || rs[0].Failure == nil || rs[0].Failure.Class != cell.Environment {
		t.Fatalf("%+v, %v", rs, err)
	}
	s = &script{do: func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
		return runner.Exit{}, &runner.GaveUpError{Deaths: 3, Err: errors.New("no memory")}
	}}
	if _, _, err = carry(t, s, bench{}, cells(cell.Cell{Type: "x"})); err == nil {
		t.Fatal("a runner that is gone for good must end the plan")
	}
}

func TestAFailingJournalStopsThePlan(t *testing.T) {
	t.Parallel()
	p := cell.Plan{}
	for i := range 50 {
		p.Cells = append(p.Cells, cell.Cell{Type: fmt.Sprintf("x%d", i)})
	}
	p, err := p.Normal()
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	obs := &notes{fail: full}
	s := &script{do: good}
	l := &Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: 1 << 40}
	if err := l.Carry(t.Context(), p, obs); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	if len(s.jobs) > 10 {
		t.Errorf("%d children ran after the journal failed", len(s.jobs))
	}
}

func TestFunctionalCellsRunSideBySideAndTimedOnesAlone(t *testing.T) {
	t.Parallel()
	var p cell.Plan
	for i := range 20 {
		p.Cells = append(p.Cells, cell.Cell{Type: fmt.Sprintf("x%d", i)})
	}
	var timedBeside atomic.Bool
	var s *script
	s = &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Kind == runner.TimeJob && s.running.Load() > 1 {
			timedBeside.Store(true)
		}
		return good(n, job, on)
	}}
	p.Timing = cell.Quick
	if _, _, err := carry(t, s, bench{}, p); err != nil {
		t.Fatal(err)
	}
	if timedBeside.Load() {
		t.Error("a timed cell ran beside another")
	}
	if s.most.Load() > 2 {
		t.Errorf("%d children at once with two workers", s.most.Load())
	}
}
