package runnertest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/runner"
)

// jobs are what one runner must bear, each alone and all together.
var jobs = []struct {
	name string
	try  func(t *testing.T, r runner.Runner)
}{
	{"hello", hello},
	{"nothing", nothing},
	{"points", points},
	{"timed", timed},
	{"many at once", many},
	{"status", status},
	{"crash", func(t *testing.T, r runner.Runner) { signalled(t, r, "crash", syscall.SIGSEGV) }},
	{"abort", func(t *testing.T, r runner.Runner) { signalled(t, r, "abort", syscall.SIGABRT) }},
	{"illegal instruction", illegal},
	{"raise", raise},
	{"silent", silent},
	{"hang", hang},
	{"cancel", cancelled},
	{"cancelled before", cancelledBefore},
	{"flood", flood},
	{"garbage", func(t *testing.T, r runner.Runner) { badProtocol(t, r, "garbage") }},
	{"longline", func(t *testing.T, r runner.Runner) { badProtocol(t, r, "longline") }},
	{"grandchild in the group", func(t *testing.T, r runner.Runner) { grandchild(t, r, nil) }},
	{"grandchild in its own session", func(t *testing.T, r runner.Runner) { grandchild(t, r, map[string]any{"session": true}) }},
	{"unknown task", unknownTask},
}

// told is what a job said.
type told struct {
	started  []runner.Started
	phases   []runner.Phase
	timed    []runner.Timed
	points   []runner.PointDone
	failures []runner.Failure
	data     []runner.Data
}

// run runs a job that must have an exit.
func run(t *testing.T, r runner.Runner, job runner.Job) (told, runner.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return runWith(ctx, t, r, job)
}

func runWith(ctx context.Context, t *testing.T, r runner.Runner, job runner.Job) (told, runner.Exit) {
	t.Helper()
	var said told
	exit, err := r.Run(ctx, job, said.hear)
	if err != nil {
		t.Fatalf("%s: %v", job.Cell.Task, err)
	}
	if len(said.started) != 1 {
		t.Fatalf("%s: %d started events, want exactly 1", job.Cell.Task, len(said.started))
	}
	expectGone(t, said.started[0].PID)
	return said, exit
}

func (s *told) hear(e runner.Event) {
	switch e := e.(type) {
	case runner.Started:
		s.started = append(s.started, e)
	case runner.Phase:
		s.phases = append(s.phases, e)
	case runner.Timed:
		s.timed = append(s.timed, e)
	case runner.PointDone:
		s.points = append(s.points, e)
	case runner.Failure:
		s.failures = append(s.failures, e)
	case runner.Data:
		s.data = append(s.data, e)
	}
}

func expectOutcome(t *testing.T, exit runner.Exit, want runner.Outcome) {
	t.Helper()
	if got := exit.Outcome(); got != want {
		t.Fatalf("outcome %s (%v), want %s; log: %s", got, exit, want, exit.Log)
	}
}

func hello(t *testing.T, r runner.Runner) {
	h := r.Hello()
	if h.Protocol != runner.Version || h.Runner == "" || h.PID <= 1 || h.Start != "fork" && h.Start != "spawn" {
		t.Errorf("hello is incomplete: %+v", h)
	}
}

// illegal: a child dies of an illegal instruction, at once, unless its job gives
// it the variable that keeps libraries from it; and the variable is that child's alone.
func illegal(t *testing.T, r runner.Runner) {
	begun := time.Now()
	signalled(t, r, "illegal", syscall.SIGILL)
	job := noop("illegal", nil)
	job.Env = map[string]string{"ONEDNN_MAX_CPU_ISA": "AVX2"}
	_, exit := run(t, r, job)
	expectOutcome(t, exit, runner.Finished)
	signalled(t, r, "illegal", syscall.SIGILL)
	if took := time.Since(begun); took > limit/2 {
		t.Errorf("three children took %v", took)
	}
}

func nothing(t *testing.T, r runner.Runner) {
	said, exit := run(t, r, noop("nothing", nil))
	expectOutcome(t, exit, runner.Finished)
	if len(said.points) != 1 || len(said.failures) != 0 {
		t.Fatalf("%d points and %d failures, want 1 and none", len(said.points), len(said.failures))
	}
	if _, err := said.points[0].Decode(); err != nil {
		t.Error(err)
	}
	if exit.Usage != nil && exit.Usage.UserS+exit.Usage.SystemS <= 0 {
		t.Errorf("usage %+v says that the child used no time at all", *exit.Usage)
	}
}

func points(t *testing.T, r runner.Runner) {
	job := noop("nothing", nil)
	job.Points = []runner.Point{{Batch: 1}, {Batch: 4}, {Batch: 8}}
	said, exit := run(t, r, job)
	expectOutcome(t, exit, runner.Finished)
	for i, p := range said.points {
		if p.Index != i {
			t.Errorf("point %d has index %d", i, p.Index)
		}
	}
	if len(said.points) != len(job.Points) {
		t.Errorf("%d points, want %d", len(said.points), len(job.Points))
	}
}

func timed(t *testing.T, r runner.Runner) {
	job := noop("nothing", nil)
	job.Timing = &runner.TimingRule{MinN: 64}
	said, _ := run(t, r, job)
	if len(said.timed) != 2 || said.timed[0].State != "begin" || said.timed[1].State != "end" {
		t.Fatalf("timed events %+v, want begin and end", said.timed)
	}
	if said.timed[0].RunnerCPUS == nil || *said.timed[0].RunnerCPUS <= 0 {
		t.Error("the runner's own CPU time is missing")
	}
	report, err := said.points[0].Decode()
	if err != nil || len(report.SamplesMS) != 64 {
		t.Errorf("%d samples (%v), want 64", len(report.SamplesMS), err)
	}
}

// many has 200 jobs under way at once where a child is a fork, and fewer
// where each is a whole interpreter.
func many(t *testing.T, r runner.Runner) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	callers := map[string]int{"fork": 200, "spawn": 20}[r.Hello().Start]
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			exit, err := r.Run(ctx, noop("sleep", map[string]any{"seconds": 0.2}), nil)
			if err != nil || exit.Outcome() != runner.Finished {
				t.Errorf("%v, %v", exit, err)
			}
		})
	}
	wg.Wait()
}

func status(t *testing.T, r runner.Runner) {
	_, exit := run(t, r, noop("exit", map[string]any{"status": 37}))
	expectOutcome(t, exit, runner.Failed)
	if exit.Status != 37 {
		t.Errorf("status %d, want 37", exit.Status)
	}
}

func signalled(t *testing.T, r runner.Runner, task string, want syscall.Signal) {
	_, exit := run(t, r, noop(task, nil))
	expectOutcome(t, exit, runner.Signalled)
	if exit.Signal != int(want) {
		t.Errorf("signal %d, want %d", exit.Signal, want)
	}
	if exit.Log == "" {
		t.Error("a crash left no trace in the log")
	}
}

func raise(t *testing.T, r runner.Runner) {
	said, exit := run(t, r, noop("raise", map[string]any{"message": "snow in June ❄"}))
	expectOutcome(t, exit, runner.Failed)
	if len(said.failures) != 1 {
		t.Fatalf("%d failures, want 1", len(said.failures))
	}
	f := said.failures[0]
	if f.Type == "" || len(f.Bases) == 0 || f.Message != "snow in June ❄" || f.Phase != "build" || f.Index != nil || !strings.Contains(f.Traceback, f.Message) {
		t.Errorf("the failure is incomplete: %+v", f)
	}
}

func silent(t *testing.T, r runner.Runner) {
	said, exit := run(t, r, noop("silent", nil))
	expectOutcome(t, exit, runner.Finished)
	if len(said.points)+len(said.failures)+len(said.data) != 0 {
		t.Errorf("a silent job said something: %+v", said)
	}
}

func hang(t *testing.T, r runner.Runner) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, exit := runWith(ctx, t, r, noop("hang", nil))
	expectOutcome(t, exit, runner.Killed)
	if exit.Killed != "timeout" {
		t.Errorf("killed because of %q, want timeout", exit.Killed)
	}
	if took := time.Since(start); took > 300*time.Millisecond+4*soon {
		t.Errorf("killing it took until %v", took)
	}
}

func cancelled(t *testing.T, r runner.Runner) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said told
	exit, err := r.Run(ctx, noop("sleep", map[string]any{"seconds": 3600}), func(e runner.Event) {
		said.hear(e)
		if _, ok := e.(runner.Started); ok {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	expectOutcome(t, exit, runner.Killed)
	if exit.Killed != "cancelled" {
		t.Errorf("killed because of %q, want cancelled", exit.Killed)
	}
	expectGone(t, said.started[0].PID)
}

func cancelledBefore(t *testing.T, r runner.Runner) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, noop("nothing", nil), func(runner.Event) { t.Error("the job was begun") }); err == nil {
		t.Error("a job whose context had ended was run")
	}
}

func flood(t *testing.T, r runner.Runner) {
	const size = 64 << 20
	_, exit := run(t, r, noop("flood", map[string]any{"bytes": size}))
	expectOutcome(t, exit, runner.Finished)
	if exit.LogBytes != size || len(exit.Log) > 64<<10 || len(exit.Log) < 32<<10 {
		t.Errorf("a log of %d bytes over %d, want at most 64 KiB over %d", len(exit.Log), exit.LogBytes, size)
	}
	if peak, ok := peakMemory(r.Hello().PID); ok && peak > size {
		t.Errorf("the runner took %d bytes of memory", peak)
	}
}

func badProtocol(t *testing.T, r runner.Runner, task string) {
	_, exit := run(t, r, noop(task, nil))
	expectOutcome(t, exit, runner.BadProtocol)
}

func grandchild(t *testing.T, r runner.Runner, options map[string]any) {
	said, exit := run(t, r, noop("grandchild", options))
	expectOutcome(t, exit, runner.Finished)
	expectGone(t, pidOf(t, said.data))
}

// pidOf is the grandchild that a job told of.
func pidOf(t *testing.T, data []runner.Data) int {
	t.Helper()
	var answer struct{ PID int }
	if len(data) != 1 {
		t.Fatalf("%d answers, want 1", len(data))
	}
	if err := json.NewDecoder(bytes.NewReader(data[0].Data)).Decode(&answer); err != nil || answer.PID <= 1 {
		t.Fatalf("the answer %s names no process: %v", data[0].Data, err)
	}
	return answer.PID
}

func unknownTask(t *testing.T, r runner.Runner) {
	said, exit := run(t, r, noop("juggle", nil))
	expectOutcome(t, exit, runner.Failed)
	if len(said.failures) != 1 || !strings.Contains(said.failures[0].Message, "juggle") {
		t.Errorf("failures %+v, want one that names the task", said.failures)
	}
}
