package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/memory"
	"assay/internal/fleet/worker"
	"assay/internal/platform"
	"assay/internal/progress"
)

// ground is a coordinator under test and its workers, all in this process.
type ground struct {
	*Coordinator
	t     *testing.T
	queue *memory.Queue
	stop  func()
}

const lease = time.Second

func newGround(t *testing.T, c Config) *ground {
	t.Helper()
	g := &ground{t: t, queue: memory.New(fleet.Limits{Lease: lease})}
	c.Queue = g.queue
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Lease == 0 {
		c.Lease = lease
	}
	if c.Patience == 0 {
		c.Patience = 100 * time.Millisecond
	}
	g.open(c)
	t.Cleanup(func() { g.stop() })
	return g
}

func (g *ground) open(c Config) {
	g.t.Helper()
	x, err := Open(c)
	if err != nil {
		g.t.Fatal(err)
	}
	g.Coordinator = x
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = x.Run(ctx) })
	g.stop = func() {
		cancel()
		wg.Wait()
		_ = x.Close()
	}
}

// carrier runs cells as a test wants.
type carrier func(ctx context.Context, c cell.Cell) (cell.Result, error)

func (f carrier) Carry(ctx context.Context, plan cell.Plan, on progress.Listener) error {
	for _, c := range plan.Cells {
		_ = on.Hear(progress.Started(c))
		r, err := f(ctx, c)
		if err != nil {
			return err
		}
		if err := on.Hear(progress.Finished(r)); err != nil {
			return err
		}
	}
	return nil
}

func works(_ context.Context, c cell.Cell) (cell.Result, error) {
	return cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, StartedAt: time.Now()}, nil
}

func announcement(name string) fleet.Announcement {
	return fleet.Announcement{
		Protocol: fleet.Protocol, Worker: name, Incarnation: name + "-1", Slots: 1, Where: name, Host: cell.Host{ID: "host-" + name},
		Offers: []fleet.Offer{{Target: platform.Target{Platform: platform.CPU, Engine: platform.Noop}.Normal()}},
	}
}

// work starts a worker; what it returns stops it.
func (g *ground) work(name string, run carrier, change ...func(*worker.Config)) (stop func()) {
	c := worker.Config{Announcement: announcement(name), Desk: g, Queue: g.queue, Carrier: run, Say: func(s string) { g.t.Log(name, s) }}
	for _, f := range change {
		f(&c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := worker.New(c).Run(ctx); err != nil && ctx.Err() == nil {
			g.t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	g.t.Cleanup(stop)
	return stop
}

// until waits for something to be true of the fleet.
func (g *ground) until(what string, ok func(fleet.Status) bool) {
	g.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := g.Status(g.t.Context())
		if err != nil {
			g.t.Fatal(err)
		}
		if ok(s) {
			return
		}
		if time.Now().After(end) {
			g.t.Fatalf("not in 20 s: %s: %+v", what, s)
		}
	}
}

func noops(n int, how cell.Plan, needs fleet.Needs) []fleet.Task {
	var out []fleet.Task
	for i := range n {
		out = append(out, fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop, Seed: i + 1}, how, needs))
	}
	return out
}

func (g *ground) send(id string, tasks ...fleet.Task) {
	g.t.Helper()
	if _, err := g.Submit(g.t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: id, Tasks: len(tasks)}, Tasks: tasks, Last: true}); err != nil {
		g.t.Fatal(err)
	}
}

// answers are all of a sweep's, when it is over.
func (g *ground) answers(id string) []fleet.Final {
	g.t.Helper()
	var out []fleet.Final
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		p, err := g.Answers(g.t.Context(), fleet.Question{Sweep: id, After: len(out), Wait: time.Second})
		if err != nil {
			g.t.Fatal(err)
		}
		out = append(out, p.Answers...)
		if p.Left == 0 {
			return out
		}
	}
	s, _ := g.Status(g.t.Context())
	g.t.Fatalf("%d answers, and no more came: %+v", len(out), s)
	return nil
}

// Every cell of a sweep gets one answer, from whichever worker.
func TestSweep(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	g.send("s1", noops(200, cell.Plan{}, fleet.Needs{})...)
	for _, name := range []string{"a", "b", "c"} {
		g.work(name, works)
	}
	seen := map[string]bool{}
	for _, f := range g.answers("s1") {
		if seen[f.Key] || len(f.Results) != 1 || f.Host == nil {
			t.Errorf("%+v", f)
		}
		seen[f.Key] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d cells have an answer", len(seen))
	}
	s, err := g.Status(t.Context())
	if err != nil || s.Tally.Accepted != 200 || s.Tally.Attempts != 200 || len(s.Lanes) > 1 {
		t.Errorf("%v: %+v", err, s)
	}
}

// A coordinator that is started again goes on where it was, and gives the answers
// that it had.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newGround(t, Config{Dir: dir})
	g.send("s1", noops(20, cell.Plan{}, fleet.Needs{})...)
	var ran atomic.Int32
	half := make(chan struct{})
	stop := g.work("a", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		if ran.Add(1) == 10 {
			close(half)
		}
		return works(ctx, c)
	})
	<-half
	stop()
	g.stop()
	g.open(Config{Dir: dir, Queue: memory.New(fleet.Limits{Lease: lease}), Lease: lease}) // the queue has forgotten everything
	g.queue = g.c.Queue.(*memory.Queue)
	g.work("b", works)
	if n := len(g.answers("s1")); n != 20 {
		t.Errorf("%d answers", n)
	}
}

// A task that nobody can run is told within five seconds, with what is missing.
func TestStranded(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{Patience: time.Second})
	g.work("a", works)
	gpu := fleet.NewTask(cell.Cell{Type: "bert", Target: "cuda"}, cell.Plan{Strict: true}, fleet.Needs{})
	far := noops(1, cell.Plan{}, fleet.Needs{Labels: map[string]string{"lab": "rome"}})[0]
	began := time.Now()
	g.send("s1", gpu, far)
	var p fleet.Page
	for len(p.Stranded) < 2 && time.Since(began) < 5*time.Second {
		var err error
		if p, err = g.Answers(t.Context(), fleet.Question{Sweep: "s1", Wait: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.Stranded) != 2 {
		t.Fatalf("after %s: %+v", time.Since(began), p)
	}
	text := fmt.Sprint(p.Stranded[0].Missing, p.Stranded[1].Missing)
	for _, want := range []string{"cuda", "a lacks cuda", "the label lab=rome"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	// Somebody comes who can.
	g.work("b", works, func(c *worker.Config) {
		c.Labels = map[string]string{"lab": "rome"}
		c.Offers = append(c.Offers, fleet.Offer{Target: platform.Target{Platform: platform.CUDA}.Normal()})
	})
	if n := len(g.answers("s1")); n != 2 {
		t.Errorf("%d answers", n)
	}
}

// Two workers on one machine never time at once, and two machines do.
func TestTimedAlone(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	timed := func(machine string) carrier {
		return func(ctx context.Context, c cell.Cell) (cell.Result, error) {
			mu.Lock()
			now[machine]++
			most[machine] = max(most[machine], now[machine])
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			now[machine]--
			mu.Unlock()
			return works(ctx, c)
		}
	}
	for _, name := range []string{"a1", "a2", "b1"} {
		g.work(name, timed(name[:1]), func(c *worker.Config) { c.Where = name[:1] })
	}
	g.send("s1", noops(30, cell.Plan{Timing: cell.Quick}, fleet.Needs{})...)
	if n := len(g.answers("s1")); n != 30 {
		t.Errorf("%d answers", n)
	}
	if most["a"] != 1 {
		t.Errorf("%d timed tasks ran at once on one machine", most["a"])
	}
}

// A machine that fails its health check gets no tasks, and what came from it is marked.
func TestHealth(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{CheckEvery: 300 * time.Millisecond})
	var sick, ran atomic.Bool
	g.work("a", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		ran.Store(true)
		return works(ctx, c)
	}, func(c *worker.Config) {
		c.Check = func(context.Context) (string, []cell.Result) {
			if !sick.Load() {
				return "", nil
			}
			if !ran.Load() {
				t.Error("it was found sick before it ran anything")
			}
			return "2 and 2 were 5", nil
		}
	})
	g.send("s1", noops(1, cell.Plan{}, fleet.Needs{})...)
	g.answers("s1")
	sick.Store(true)
	g.send("s2", noops(400, cell.Plan{}, fleet.Needs{})[1:]...)
	deadline := time.Now().Add(20 * time.Second)
	for {
		s, err := g.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if w := s.Workers[0]; strings.Contains(w.Quarantined, "2 and 2 were 5") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is not quarantined: %+v", s.Workers)
		}
		time.Sleep(50 * time.Millisecond)
	}
	all, err := g.Tasks(t.Context(), fleet.TaskQuestion{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(s fleet.TaskStatus) bool { return s.Suspect != "" }) {
		t.Error("nothing is marked")
	}
	if _, err := g.Steer(t.Context(), fleet.Steering{Do: fleet.KindUnban, Name: "a"}); err != nil {
		t.Fatal(err)
	}
	sick.Store(false)
	if n := len(g.answers("s2")); n != 399 {
		t.Errorf("%d answers", n)
	}
}

// A worker's clock that is an hour off moves no result in time and loses none.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	late := func() time.Time { return time.Now().Add(-time.Hour) }
	g.work("a", func(_ context.Context, c cell.Cell) (cell.Result, error) {
		return cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, StartedAt: late()}, nil
	}, func(c *worker.Config) { c.Now = late })
	g.send("s1", noops(3, cell.Plan{}, fleet.Needs{})...)
	for _, f := range g.answers("s1") {
		r := result(t, f)
		if d := time.Since(r.StartedAt); d.Abs() > time.Minute {
			t.Errorf("the result is %s old", d)
		}
	}
	s, err := g.Status(t.Context())
	if err != nil || s.Workers[0].SkewS > -3590 {
		t.Errorf("%v, %+v", err, s.Workers)
	}
}

// Cancel, pause, resume, drain and requeue.
func TestSteer(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	steer := func(do fleet.Kind, name string) {
		t.Helper()
		if _, err := g.Steer(t.Context(), fleet.Steering{Do: do, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	g.send("s1", noops(5, cell.Plan{}, fleet.Needs{})...)
	steer(fleet.KindPause, "s1")
	g.work("a", works)
	time.Sleep(300 * time.Millisecond)
	if s, _ := g.Status(t.Context()); s.Tally.Attempts != 0 {
		t.Errorf("a paused sweep was begun: %+v", s.Tally)
	}
	steer(fleet.KindResume, "s1")
	first := g.answers("s1")[0]
	steer(fleet.KindRequeue, first.Key)
	if n := len(g.answers("s1")); n != 6 {
		t.Errorf("%d answers after one was queued again", n)
	}
	steer(fleet.KindDrain, "a")
	g.send("s2", noops(5, cell.Plan{Strict: true}, fleet.Needs{})...)
	time.Sleep(300 * time.Millisecond)
	if s, _ := g.Status(t.Context()); s.Tally.Attempts != 6 {
		t.Errorf("a draining worker began tasks: %+v", s.Tally)
	}
	steer(fleet.KindCancel, "s2")
	if n := len(g.answers("s2")); n != 0 {
		t.Errorf("%d answers of a cancelled sweep", n)
	}
	for _, s := range []fleet.Steering{{Do: fleet.KindCancel, Name: "s9"}, {Do: fleet.KindDrain, Name: "z"}, {Do: fleet.KindRequeue, Name: "k"}, {Do: "dance", Name: "a"}} {
		if _, err := g.Steer(t.Context(), s); err == nil {
			t.Errorf("%+v was done", s)
		}
	}
}

// What another machine may do better is tried there, and its owner's machine is
// not asked for cells with files of the sender's.
func TestElsewhereAndNowhere(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	broken := func(_ context.Context, c cell.Cell) (cell.Result, error) {
		return cell.Result{Cell: c, Verdict: cell.Unknown, Failure: &cell.Failure{Class: cell.Environment, Detail: "no space left on device"}}, nil
	}
	g.work("full", broken)
	g.work("well", works)
	g.send("s1", noops(20, cell.Plan{}, fleet.Needs{})...)
	for _, f := range g.answers("s1") {
		if f.Worker != "well" || result(t, f).Verdict != cell.Works {
			t.Errorf("%+v", f)
		}
	}
	own := fleet.Task{Cell: cell.Cell{Type: "onnx", Checkpoint: "./mine.onnx", Target: "cpu/onnxruntime"}}
	if _, err := g.Submit(t.Context(), fleet.Submission{Sweep: fleet.Sweep{ID: "s2"}, Tasks: []fleet.Task{own}}); err == nil || !strings.Contains(err.Error(), "goes nowhere else") {
		t.Errorf("a cell with a file of the sender's: %v", err)
	}
}

// A worker whose runner is lost answers with an error, and the task ends with
// a verdict where nobody else is.
func TestNoResult(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	g.work("a", func(context.Context, cell.Cell) (cell.Result, error) {
		return cell.Result{}, errors.New("the runner is gone")
	})
	g.send("s1", noops(1, cell.Plan{}, fleet.Needs{})...)
	f := g.answers("s1")[0]
	if r := result(t, f); r.Verdict != cell.Unknown || !strings.Contains(r.Failure.Detail, "the runner is gone") {
		t.Errorf("%+v", r.Failure)
	}
}

// Questions come from outside: numbers below zero end nothing.
func TestNegativeQuestions(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	g.send("s1", noops(3, cell.Plan{}, fleet.Needs{})...)
	if tasks, err := g.Tasks(t.Context(), fleet.TaskQuestion{Most: -1}); err != nil || len(tasks) != 3 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
	if page, err := g.Answers(t.Context(), fleet.Question{Sweep: "s1", After: -5, Wait: -1}); err != nil || page.Left != 3 {
		t.Errorf("%+v, %v", page, err)
	}
}
