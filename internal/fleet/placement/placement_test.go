package placement

import (
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

var start = time.Unix(1e9, 0)

func target(t *testing.T, s string) platform.Target {
	t.Helper()
	out, err := platform.ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func on(t *testing.T, id string, speed float64, targets ...string) Worker {
	t.Helper()
	w := Worker{ID: id, Host: id}
	for _, s := range targets {
		w.Targets = append(w.Targets, Target{Target: target(t, s), Speed: speed})
	}
	return w
}

func task(t *testing.T, id, where string, seconds float64) Task {
	t.Helper()
	return Task{ID: id, Needs: Needs{Target: target(t, where)}, Expect: time.Duration(seconds * float64(time.Second)), Queued: start}
}

// next asks for a worker and returns the task's name, "" for none.
func next(s *Scheduler, now time.Time, worker string) string {
	t, ok := s.Next(now, worker)
	if !ok {
		return ""
	}
	return t.ID
}

func TestLongTasksFirst(t *testing.T) {
	t.Parallel()
	s := New()
	s.Join(on(t, "a", 1, "cpu"))
	s.Add(task(t, "short", "cpu", 1))
	s.Add(task(t, "long", "cpu", 10))
	if got := next(s, start, "a"); got != "long" {
		t.Errorf("first %q", got)
	}
	if got := next(s, start, "a"); got != "" {
		t.Errorf("it has one slot and got %q", got)
	}
	s.Done("long")
	if got := next(s, start.Add(10*time.Second), "a"); got != "short" {
		t.Errorf("then %q", got)
	}
}

func TestPriorityAndAge(t *testing.T) {
	t.Parallel()
	s := New()
	s.Join(on(t, "a", 1, "cpu"))
	urgent, old := task(t, "urgent", "cpu", 1), task(t, "old", "cpu", 1)
	urgent.Priority, urgent.Queued = 2, start.Add(3*time.Hour)
	s.Add(task(t, "long", "cpu", 100))
	s.Add(urgent)
	if got := next(s, start, "a"); got != "urgent" {
		t.Errorf("first %q", got)
	}
	s.Done("urgent")
	s = New()
	s.Join(on(t, "a", 1, "cpu"))
	s.Add(urgent)
	s.Add(old)
	if got := next(s, start.Add(3*time.Hour+time.Minute), "a"); got != "old" {
		t.Errorf("what has waited for three hours comes after %q", got)
	}
}

// TestLeftToTheFaster: a slow worker leaves a task to one that would finish it sooner, also
// if that one is busy.
func TestLeftToTheFaster(t *testing.T) {
	t.Parallel()
	s := New()
	s.Join(on(t, "fast", 10, "cpu"))
	s.Join(on(t, "slow", 0.1, "cpu"))
	for _, id := range []string{"one", "two"} {
		s.Add(task(t, id, "cpu", 10))
	}
	if got := next(s, start, "slow"); got != "" {
		t.Errorf("the slow one took %q", got)
	}
	if got := next(s, start, "fast"); got == "" {
		t.Error("the fast one got nothing")
	}
	if got := next(s, start, "slow"); got != "" {
		t.Errorf("the slow one took %q while the fast one is busy for a second", got)
	}
	s.Leave("fast")
	if got := next(s, start, "slow"); got == "" {
		t.Error("nobody else is left, and the slow one got nothing")
	}
}

// TestScarceIsLeft: a worker that can do what nobody else can leaves the rest to others.
func TestScarceIsLeft(t *testing.T) {
	t.Parallel()
	s := New()
	s.Join(on(t, "both", 1, "cpu", "cuda"))
	s.Join(on(t, "cpu", 1, "cpu"))
	for _, id := range []string{"c1", "c2", "c3"} {
		s.Add(task(t, id, "cpu", 10))
	}
	for _, id := range []string{"g1", "g2", "g3"} {
		s.Add(task(t, id, "cuda", 10))
	}
	for i := range 3 {
		now := start.Add(time.Duration(i) * 10 * time.Second)
		a, b := next(s, now, "both"), next(s, now, "cpu")
		if !strings.HasPrefix(a, "g") || !strings.HasPrefix(b, "c") {
			t.Fatalf("round %d: %q and %q", i, a, b)
		}
		s.Done(a)
		s.Done(b)
	}
}

// TestTimedAlone: a timed task waits until its host is idle, and holds everybody off
// meanwhile, also another worker of the host.
func TestTimedAlone(t *testing.T) {
	t.Parallel()
	s := New()
	for _, id := range []string{"a", "b"} {
		w := on(t, id, 1, "cpu")
		w.Host, w.Slots = "host", 2
		s.Join(w)
	}
	s.Add(task(t, "plain", "cpu", 1))
	if got := next(s, start, "a"); got != "plain" {
		t.Fatalf("first %q", got)
	}
	timed := task(t, "timed", "cpu", 50)
	timed.Timed = true
	s.Add(timed)
	both := func(now time.Time) string { return next(s, now, "a") + next(s, now, "b") }
	if got := both(start); got != "" {
		t.Fatalf("%q began beside another task", got)
	}
	s.Add(task(t, "later", "cpu", 1))
	if got := both(start); got != "" {
		t.Fatalf("%q began while a timed task waits for the host", got)
	}
	s.Done("plain")
	if got := both(start); got != "timed" {
		t.Fatalf("the host is idle, and %q began", got)
	}
	if got := both(start); got != "" {
		t.Fatalf("%q began beside a timed task", got)
	}
	s.Done("timed")
	if got := both(start); got != "later" {
		t.Fatalf("then %q", got)
	}
}

// TestWaitingHostIsGivenUp: a worker that wants its host and is drained lets others have it.
func TestWaitingHostIsGivenUp(t *testing.T) {
	t.Parallel()
	s := New()
	a, b := on(t, "a", 1, "cpu"), on(t, "b", 1, "cpu")
	a.Host, b.Host, a.Slots, b.Slots = "host", "host", 2, 2
	s.Join(a)
	s.Add(task(t, "plain", "cpu", 10))
	if got := next(s, start, "a"); got != "plain" {
		t.Fatalf("first %q", got)
	}
	timed := task(t, "timed", "cpu", 1)
	timed.Timed = true
	s.Add(timed)
	if got := next(s, start, "a"); got != "" {
		t.Fatalf("%q began", got)
	}
	a.Closed = "it is drained"
	s.Join(a)
	s.Join(b)
	s.Remove("timed")
	s.Add(task(t, "other", "cpu", 1))
	next(s, start, "a")
	if got := next(s, start, "b"); got != "other" {
		t.Errorf("b got %q", got)
	}
}

func TestAvoidAndHost(t *testing.T) {
	t.Parallel()
	s := New()
	s.Join(on(t, "a", 1, "cpu"))
	s.Join(on(t, "b", 1, "cpu"))
	failed, local := task(t, "failed", "cpu", 1), task(t, "local", "cpu", 2)
	failed.Avoid, local.Needs.Host = []string{"a"}, "a"
	s.Add(failed)
	s.Add(local)
	if got := next(s, start, "a") + " " + next(s, start, "b"); got != "local failed" {
		t.Errorf("a and b got %q", got)
	}
}

// TestAvoidAmongEquals: what failed on one of several equal workers goes to another, though
// the plan would give it to the first.
func TestAvoidAmongEquals(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"a", "b"} {
		s := New()
		s.Join(on(t, "a", 1, "cpu"))
		s.Join(on(t, "b", 1, "cpu"))
		failed := task(t, "failed", "cpu", 1)
		failed.Avoid = []string{bad}
		s.Add(failed)
		want := map[string]string{"a": "failed", "b": "failed", bad: ""}
		for _, id := range []string{"a", "b"} {
			if got := next(s, start, id); got != want[id] {
				t.Errorf("it failed on %s, and %s got %q", bad, id, got)
			}
		}
	}
}

// TestCopies: an idle worker copies what runs far longer than was expected on a slower one, once, and what it would
// end sooner by all that is known; not what has just begun, nor where somebody else would end it later.
func TestCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		speed       float64 // of the idle worker
		expect      float64 // seconds
		after       time.Duration
		timed, busy bool // the idle worker's host runs something else
		want        string
	}{
		{"far too long, and twice as fast", 2, 1, 30 * time.Second, false, false, "x"},
		{"far too long, and as fast", 1, 1, 30 * time.Second, false, false, ""},
		{"just begun", 2, 100, time.Second, false, false, ""},
		{"much faster", 10, 100, 10 * time.Second, false, false, "x"},
		{"faster, but not enough for what is left", 2, 100, 60 * time.Second, false, false, ""},
		{"timed, on an idle host", 10, 100, 10 * time.Second, true, false, "x"},
		{"timed, and the host is busy", 10, 100, 10 * time.Second, true, true, ""},
	} {
		s := New()
		s.Copies = true
		s.Join(on(t, "slow", 1, "cpu"))
		x := task(t, "x", "cpu", c.expect)
		x.Timed = c.timed
		s.Add(x)
		if got := next(s, start, "slow"); got != "x" {
			t.Fatalf("%s: %q", c.name, got)
		}
		idle := on(t, "idle", c.speed, "cpu", "webnn")
		idle.Slots = 2
		s.Join(idle)
		if c.busy {
			s.Add(task(t, "other", "webnn", 500))
			if got := next(s, start, "idle"); got != "other" {
				t.Fatalf("%s: %q", c.name, got)
			}
		}
		d, _ := s.Next(start.Add(c.after), "idle")
		if d.ID != c.want || d.Copy != (c.want != "") {
			t.Errorf("%s: %+v", c.name, d)
		}
		if c.want == "" {
			continue
		}
		s.Join(on(t, "third", 100, "cpu"))
		if got := next(s, start.Add(c.after), "third"); got != "" {
			t.Errorf("%s: %q was copied twice", c.name, got)
		}
		s.Answered("x")
		s.Stopped("x", "slow")
		if s.Running() != 1 {
			t.Errorf("%s: the copy is forgotten before it has stopped", c.name)
		}
		s.Stopped("x", "idle")
		if s.Running() != 0 {
			t.Errorf("%s: %d run", c.name, s.Running())
		}
	}
}

// TestRescues: what runs four times as long as was expected goes before what waits, on a worker that is much faster; a
// timed one waits for the host, which begins nothing else meanwhile, and only one worker waits.
func TestRescues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		speed float64 // of the workers that could
		after time.Duration
		timed bool
		want  string
	}{
		{"overdue", 2, 41 * time.Second, false, "x"},
		{"not yet", 2, 39 * time.Second, false, "next"},
		{"not much faster", 1.1, 41 * time.Second, false, "next"},
		{"timed, overdue", 2, 41 * time.Second, true, ""},
	} {
		s := New()
		s.Copies = true
		s.Join(on(t, "slow", 1, "cpu"))
		x := task(t, "x", "cpu", 10)
		x.Timed = c.timed
		s.Add(x)
		if got := next(s, start, "slow"); got != "x" {
			t.Fatalf("%s: %q", c.name, got)
		}
		for _, id := range []string{"fast", "other"} {
			w := on(t, id, c.speed, "cpu", "webnn")
			w.Slots = 2
			s.Join(w)
		}
		s.Add(task(t, "long", "webnn", 500))
		if got := next(s, start, "fast"); got != "long" {
			t.Fatalf("%s: %q", c.name, got)
		}
		s.Add(task(t, "next", "webnn", 5))
		s.Add(task(t, "last", "webnn", 4))
		now := start.Add(c.after)
		d, ok := s.Next(now, "fast")
		if d.ID != c.want || ok != (c.want != "") || d.Copy != (c.want == "x") {
			t.Errorf("%s: %+v", c.name, d)
		}
		if got := next(s, now, "other"); got == "x" || got == "" {
			t.Errorf("%s: the other worker got %q", c.name, got)
		}
		if !c.timed {
			continue
		}
		s.Done("long")
		if d, _ := s.Next(now, "fast"); d.ID != "x" || !d.Copy {
			t.Errorf("%s: on an idle host %+v", c.name, d)
		}
	}
}

func TestStuck(t *testing.T) {
	t.Parallel()
	gpu := on(t, "gpu", 1, "cpu", "cuda")
	gpu.Targets[1].Memory, gpu.Targets[1].Versions = 24<<30, map[string]string{"torch": "2.15.0"}
	gpu.Labels = []string{"hub"}
	for _, c := range []struct {
		name   string
		change func(w *Worker, t *Task)
		want   string
	}{
		{"it can", func(*Worker, *Task) {}, ""},
		{"no target", func(_ *Worker, k *Task) { k.Needs.Target = target(t, "openvino:NPU") }, "no worker has target openvino:NPU"},
		{"memory", func(_ *Worker, k *Task) { k.Needs.DeviceMemory = 80 << 30 }, "worker gpu has cuda but not 80.0 GiB of device memory (there are 24.0 GiB)"},
		{"version", func(_ *Worker, k *Task) { k.Needs.Versions = map[string]string{"torch": "2.11.0"} }, "worker gpu has cuda but not torch 2.11.0 (there is 2.15.0)"},
		{"label", func(_ *Worker, k *Task) { k.Needs.Labels = []string{"code"} }, "worker gpu has cuda but not the label code"},
		{"host", func(_ *Worker, k *Task) { k.Needs.Host = "laptop" }, "the files that it names are on host laptop, and no worker there has target cuda"},
		{"closed", func(w *Worker, _ *Task) { w.Closed = "it is in quarantine" }, "worker gpu could, but it is in quarantine"},
		{"avoided", func(_ *Worker, k *Task) { k.Avoid = []string{"gpu"} }, "worker gpu could, but it failed there"},
	} {
		w, k := gpu, task(t, "x", "cuda", 1)
		c.change(&w, &k)
		s := New()
		s.Join(w)
		s.Join(on(t, "laptop2", 1, "cpu"))
		s.Add(k)
		stuck := s.Stuck()
		if c.want == "" {
			if len(stuck) != 0 || next(s, start, "gpu") != "x" {
				t.Errorf("%s: %v", c.name, stuck)
			}
			continue
		}
		if len(stuck) != 1 {
			t.Errorf("%s: %v", c.name, stuck)
			continue
		}
		if diff := cmp.Diff([]string{c.want}, stuck[0].Missing); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if got := next(s, start, "gpu") + next(s, start, "laptop2"); got != "" {
			t.Errorf("%s: %q was begun", c.name, got)
		}
	}
	empty := New()
	empty.Add(task(t, "x", "cuda", 1))
	if got := empty.Stuck(); len(got) != 1 || got[0].String() != "nobody can run it: no worker has joined" {
		t.Errorf("%v", got)
	}
}

func TestLeaveGivesTasksBack(t *testing.T) {
	t.Parallel()
	s := New()
	w := on(t, "a", 1, "cpu")
	w.Slots = 2
	s.Join(w)
	s.Add(task(t, "one", "cpu", 1))
	s.Add(task(t, "two", "cpu", 1))
	next(s, start, "a")
	next(s, start, "a")
	left := s.Leave("a")
	if len(left) != 2 || left[0].ID != "one" || s.Running() != 0 || s.Queued() != 0 {
		t.Errorf("%v, %d running, %d queued", left, s.Running(), s.Queued())
	}
	if s.Leave("a") != nil {
		t.Error("it left twice")
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	var h History
	bert, vit, t5 := cell.Cell{Type: "bert"}.Normal(), cell.Cell{Type: "vit"}.Normal(), cell.Cell{Type: "t5"}.Normal()
	if d, guess := h.Expect(bert, cell.Functional); d != 0 || !guess {
		t.Errorf("of nothing: %v, %v", d, guess)
	}
	for _, d := range []time.Duration{2 * time.Second, 4 * time.Second, 100 * time.Second} {
		h.Learn(bert, cell.Functional, 0.5, d)
	}
	if d, guess := h.Expect(bert, cell.Functional); d != 2*time.Second || guess {
		t.Errorf("4 s on half the speed is %v, %v", d, guess)
	}
	if d, guess := h.Expect(cell.Cell{Type: "bert", Batch: 8}.Normal(), cell.Functional); d != 2*time.Second || guess {
		t.Errorf("with another batch: %v, %v", d, guess)
	}
	if _, guess := h.Expect(bert, cell.Thorough); !guess {
		t.Error("a functional run says how long a timed one takes")
	}
	h.Learn(vit, cell.Functional, 1, 10*time.Second)
	onnx := cell.Cell{Type: "t5", Target: "cpu/onnxruntime"}.Normal()
	h.Learn(cell.Cell{Type: "bert", Target: "cpu/onnxruntime"}.Normal(), cell.Functional, 1, time.Second)
	h.Learn(cell.Cell{Type: "vit", Target: "cpu/onnxruntime"}.Normal(), cell.Functional, 1, time.Second)
	h.Learn(onnx, cell.Functional, 1, 60*time.Second)
	d, guess := h.Expect(t5, cell.Functional)
	if !guess || d < 60*time.Second {
		t.Errorf("t5 takes sixty times as long as others elsewhere, and here %v, %v", d, guess)
	}
}
