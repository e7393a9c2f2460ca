package fleet

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"

	"pgregory.net/rapid"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	noop  = NewTask(cell.Cell{Type: "noop", Engine: platform.Noop, Seed: 1}, cell.Plan{Timing: cell.Functional}, Needs{})
)

// table is a board under test with what its coordinator would know.
type table struct {
	*Board
	now    time.Time
	dead   map[string]bool // incarnations that are not heard
	alone  bool            // no other worker is there
	copies bool            // whoever asks may copy
	events []Event
}

func newTable(tasks ...Task) *table {
	t := &table{Board: NewBoard(), now: start, dead: map[string]bool{}}
	t.apply(Event{Kind: KindSweep, Sweep: &Sweep{ID: "s1", Tasks: len(tasks)}})
	t.apply(t.Add("s1", tasks, t.now)...)
	return t
}

func (t *table) apply(events ...Event) {
	for _, e := range events {
		t.events = append(t.events, e)
		t.Apply(e, Ref{Offset: int64(len(t.events))})
	}
}

func (t *table) view() View {
	return View{
		Now: t.now, Lease: Lease,
		Alive:  func(_ *Work, a *Attempt) bool { return !t.dead[a.Incarnation] },
		Copies: func(*Work, string) bool { return t.copies },
		Others: func(*Work, []string) bool { return !t.alone },
		Busy:   func(*Work, string) Grant { return Grant{} },
	}
}

func worker(name string) Announcement {
	return Announcement{Protocol: Protocol, Worker: name, Incarnation: name + "-1", Slots: 1}
}

func (t *table) begin(name string) Grant {
	g, events := t.Begin(noop.Key, worker(name), t.view())
	t.apply(events...)
	return g
}

func (t *table) finish(name string, attempt int, class cell.FailureClass) Outcome {
	r := cell.Result{Cell: noop.Cell, Verdict: cell.Works}
	if class != "" {
		r.Verdict, r.Failure = cell.Fails, &cell.Failure{Class: class, Detail: "it says so"}
	}
	body, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	o, events := t.Finish(Answer{Key: noop.Key, Attempt: attempt, Worker: name, Incarnation: name + "-1", Results: []json.RawMessage{body}}, &r, t.view())
	t.apply(events...)
	return o
}

func (t *table) lose(name string, attempt int) {
	t.dead[name+"-1"] = true
	t.apply(t.Lose(t.Work(noop.Key), attempt, "silence", t.now)...)
}

// A result counts once, with the newest attempt's number.
func TestFencing(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	first := b.begin("a")
	if again := b.begin("b"); again.Run || again.Wait == 0 {
		t.Fatalf("the task runs on a, and b was told %+v", again)
	}
	b.dead["a-1"] = true
	second := b.begin("b")
	if !first.Run || !second.Run || first.Attempt != 1 || second.Attempt != 2 {
		t.Fatalf("%+v, then %+v", first, second)
	}
	if o := b.finish("a", 1, ""); o != Late {
		t.Errorf("late: %s", o)
	}
	if o := b.finish("a", 1, ""); o != Late { // said twice, and kept once
		t.Errorf("the old attempt's answer is %s", o)
	}
	if o := b.finish("a", 2, ""); o != Refused {
		t.Errorf("another worker's attempt: %s", o)
	}
	if o := b.finish("b", 2, ""); o != Accepted {
		t.Errorf("the newest attempt's answer is %s", o)
	}
	if o := b.finish("b", 2, ""); o != Known {
		t.Errorf("the same again is %s", o)
	}
	if b.Tally.Accepted != 1 || b.Tally.Late != 1 || b.Work(noop.Key).State != Done || len(b.Sweep("s1").Answers) != 1 {
		t.Errorf("%+v", b.Tally)
	}
	if g := b.begin("c"); g.Run || g.Wait != 0 {
		t.Errorf("a task that is done is delivered again: %+v", g)
	}
}

// A copy runs beside the first attempt: whichever answers first counts, and the other's answer is evidence.
func TestCopy(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"a", "b"} {
		b := newTable(noop)
		b.begin("a")
		if g := b.begin("b"); g.Run {
			t.Fatalf("nobody wants a copy: %+v", g)
		}
		b.copies = true
		if g := b.begin("a"); g.Run {
			t.Fatalf("a worker copies itself: %+v", g)
		}
		if g := b.begin("b"); !g.Run || g.Attempt != 2 {
			t.Fatalf("%+v", g)
		}
		if g := b.begin("c"); g.Run {
			t.Fatalf("a second copy: %+v", g)
		}
		number := map[string]int{"a": 1, "b": 2}
		if o := b.finish(first, number[first], ""); o != Accepted {
			t.Errorf("the first answer, %s's, is %s", first, o)
		}
		delete(number, first)
		for second, n := range number {
			if o := b.finish(second, n, ""); o != Late {
				t.Errorf("the second answer is %s", o)
			}
			if a := b.Work(noop.Key).attempt(n); a.End != EndOvertaken {
				t.Errorf("the attempt behind ended as %q", a.End)
			}
		}
		if len(b.Sweep("s1").Answers) != 1 || b.Tally.Accepted != 1 || b.Tally.Late != 1 || b.Tally.Copies != 1 || b.Tally.Attempts != 2 {
			t.Errorf("%+v", b.Tally)
		}
	}
	// One that is lost, or fails for its machine's sake, leaves the task to the other.
	b := newTable(noop)
	b.copies, b.alone = true, true
	b.begin("a")
	b.begin("b")
	b.lose("a", 1)
	if w := b.Work(noop.Key); !w.State.UnderWay() || w.Current().Worker != "b" {
		t.Errorf("%s, %+v", w.State, w.Attempts)
	}
	if o := b.finish("a", 1, ""); o != Late {
		t.Errorf("an answer of the lost one, while the copy runs: %s", o)
	}
	if o := b.finish("b", 2, ""); o != Accepted {
		t.Errorf("the copy's answer is %s", o)
	}
	b = newTable(noop)
	b.copies, b.alone = true, true
	b.begin("a")
	b.begin("b")
	if o := b.finish("b", 2, cell.Driver); o != Retried || !b.Work(noop.Key).State.UnderWay() {
		t.Errorf("the copy failed: %s", o)
	}
	if o := b.finish("a", 1, ""); o != Accepted {
		t.Errorf("the first one's answer is %s", o)
	}
}

// A worker that was cut off and is back before anybody else began is believed.
func TestBackInTime(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	b.begin("a")
	b.lose("a", 1)
	if o := b.finish("a", 1, ""); o != Accepted {
		t.Errorf("its answer is %s", o)
	}
}

// A cell that killed two workers is a crash, and nobody gets it a third time.
func TestKilledTwo(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	for i, name := range []string{"a", "b"} {
		if g := b.begin(name); !g.Run || g.Attempt != i+1 {
			t.Fatalf("%s: %+v", name, g)
		}
		b.lose(name, i+1)
	}
	w := b.Work(noop.Key)
	if g := b.begin("c"); g.Run || w.State != Dead || len(b.Sweep("s1").Answers) != 1 {
		t.Fatalf("%+v, state %s", g, w.State)
	}
	var r cell.Result
	if err := json.Unmarshal(b.events[len(b.events)-1].Results[0], &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != cell.Fails || r.Failure.Class != cell.Crash || !strings.Contains(r.Failure.Detail, "a, b") || r.Failure.Hint == "" {
		t.Errorf("%+v", r.Failure)
	}
	// One that came back was not killed.
	b = newTable(noop)
	b.begin("a")
	b.lose("a", 1)
	b.apply(Event{Kind: KindSurvived, Key: noop.Key, Attempt: &Attempt{N: 1}})
	b.begin("b")
	b.lose("b", 2)
	if g := b.begin("c"); !g.Run {
		t.Errorf("one was killed, and a third worker was told %+v", g)
	}
}

// What another machine may do better is tried there; a wrong output is not.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for class, want := range map[cell.FailureClass][]Outcome{
		cell.WrongOutput: {Accepted},
		cell.Crash:       {Retried, Accepted},
		cell.Driver:      {Retried, Retried, Accepted},
		cell.Environment: {Retried, Retried, Accepted},
	} {
		b := newTable(noop)
		for i, o := range want {
			name := string(rune('a' + i))
			if g := b.begin(name); !g.Run {
				t.Fatalf("%s: %+v", class, g)
			}
			if got := b.finish(name, i+1, class); got != o {
				t.Errorf("%s, run %d: %s, want %s", class, i+1, got, o)
			}
			if o == Retried {
				if g := b.begin(name); g.Run || g.Wait == 0 {
					t.Errorf("%s: it is tried on the same worker again: %+v", class, g)
				}
			}
		}
	}
	b := newTable(noop)
	b.alone = true
	b.begin("a")
	if o := b.finish("a", 1, cell.Driver); o != Accepted {
		t.Errorf("where nobody else is: %s", o)
	}
}

func TestSteering(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	b.apply(Event{Kind: KindPause, Name: "s1"})
	if g := b.begin("a"); g.Run {
		t.Error("a paused task was granted")
	}
	b.apply(Event{Kind: KindResume, Name: "s1"})
	b.apply(Event{Kind: KindWorker, Worker: ptr(worker("a"))}, Event{Kind: KindDrain, Name: "a"})
	if g := b.begin("a"); g.Run || g.Wait == 0 {
		t.Errorf("a draining worker: %+v", g)
	}
	b.apply(Event{Kind: KindUndrain, Name: "a"})
	b.begin("a")
	b.apply(Event{Kind: KindCancel, Name: "s1"})
	if o := b.finish("a", 1, ""); o != Late || b.Work(noop.Key).State != Cancelled || b.Sweep("s1").Left() != 0 {
		t.Errorf("after cancel: %s, %s", o, b.Work(noop.Key).State)
	}
	// The cell is asked for again: an attempt of the cancelled round stays old.
	b.apply(Event{Kind: KindSweep, Sweep: &Sweep{ID: "s2", Tasks: 1}})
	b.apply(b.Add("s2", []Task{noop}, b.now)...)
	if o := b.finish("a", 1, ""); o != Late {
		t.Errorf("an answer of the round before: %s", o)
	}
	if g := b.begin("a"); !g.Run || g.Attempt != 2 {
		t.Errorf("%+v", g)
	}
}

// A task is held back as long as all sweeps that wait for it are paused, and no longer.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	state := func(want State, what string) {
		t.Helper()
		if got := b.Work(noop.Key).State; got != want {
			t.Errorf("%s: it is %s, want %s", what, got, want)
		}
	}
	b.apply(Event{Kind: KindPause, Name: "s1"})
	b.apply(Event{Kind: KindSweep, Sweep: &Sweep{ID: "s2", Tasks: 1}})
	b.apply(b.Add("s2", []Task{noop}, b.now)...)
	state(Queued, "another sweep, which is not paused, waits too")
	b.apply(Event{Kind: KindPause, Name: "s2"})
	state(Paused, "both are paused")
	b.apply(Event{Kind: KindResume, Name: "s1"})
	state(Queued, "one goes on")
	b.apply(Event{Kind: KindCancel, Name: "s1"})
	state(Paused, "the one that went on is cancelled")
	b.apply(Event{Kind: KindResume, Name: "s2"})
	if g := b.begin("a"); !g.Run {
		t.Fatalf("%+v", g)
	}
	b.apply(Event{Kind: KindPause, Name: "s2"})
	state(Leased, "what a worker has goes on")
	b.lose("a", 1)
	state(Paused, "it was lost while its sweep is paused")
}

func ptr[T any](v T) *T { return &v }

// Two sweeps that want the same cell share it, and both are answered.
func TestShared(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	b.apply(Event{Kind: KindSweep, Sweep: &Sweep{ID: "s2", Tasks: 1}})
	b.apply(b.Add("s2", []Task{noop}, b.now)...)
	b.apply(Event{Kind: KindCancel, Name: "s1"})
	b.begin("a")
	b.finish("a", 1, "")
	if len(b.Sweep("s2").Answers) != 1 || len(b.Sweep("s1").Answers) != 0 || b.Tally.Attempts != 1 {
		t.Errorf("%+v, %+v", b.Sweep("s1"), b.Sweep("s2"))
	}
}

// A task that is delivered again and again without being begun ends with a verdict.
func TestDeliveredInVain(t *testing.T) {
	t.Parallel()
	b := newTable(noop)
	for i := range mostVain {
		b.apply(b.Exhaust(noop.Key, b.now)...)
		if dead := b.Work(noop.Key).State == Dead; dead != (i == mostVain-1) {
			t.Errorf("after %d: %s", i+1, b.Work(noop.Key).State)
		}
	}
}

func TestSuits(t *testing.T) {
	t.Parallel()
	on := func(target string, how cell.Plan, n Needs) Task {
		return NewTask(cell.Cell{Type: "bert", Target: target}, how, n)
	}
	offer := func(target string, memory int64) Offer {
		p, err := platform.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		return Offer{Target: p, MemoryBytes: memory}
	}
	a := Announcement{Offers: []Offer{offer("cpu", 0), offer("openvino", 0), offer("cuda", 8e9), offer("webgpu@chromium", 0)}, Labels: map[string]string{"lab": "berlin"}}
	strict := cell.Plan{Strict: true}
	for _, c := range []struct {
		task    Task
		fit     Fit
		missing string
	}{
		{on("cuda", strict, Needs{}), Direct, ""},
		{on("cuda:1", strict, Needs{}), Unfit, "cuda:1"},
		{on("cuda:1", cell.Plan{}, Needs{}), FallsBack, "cuda:1"},
		{on("cuda", strict, Needs{MemoryBytes: 16e9}), Unfit, "16.0 GB on cuda (it has 8.0)"},
		{on("mps", strict, Needs{}), Derives, "mps"},
		{on("webgpu", strict, Needs{}), Direct, ""},
		{on("webgpu@firefox", strict, Needs{}), Unfit, "webgpu@firefox"},
		{on("cpu/onnxruntime", strict, Needs{}), Unfit, "cpu/onnxruntime"},
		{on("cpu", strict, Needs{Labels: map[string]string{"lab": "berlin"}}), Direct, ""},
		{on("cpu", strict, Needs{Labels: map[string]string{"lab": "rome"}}), Unfit, "the label lab=rome"},
		{NewTask(cell.Cell{Type: "bert", Checkpoint: "bert-base-uncased", Weights: cell.Hub, Size: cell.Full}, strict, Needs{}), Unfit, "leave to load weights (join --allow-hub)"},
	} {
		if fit, missing := a.Suits(c.task); fit != c.fit || missing != c.missing {
			t.Errorf("%s %+v: %q, %q; want %q, %q", c.task.Cell.Target, c.task.Needs, fit, missing, c.fit, c.missing)
		}
	}
	// What was asked of a browser stays in one, and a browser's WebAssembly stands for no processor.
	for _, c := range []struct {
		has, asked string
		fit        Fit
	}{{"cpu/wasm@safari", "cuda", Unfit}, {"cpu/wasm@safari", "webgpu@safari", FallsBack}, {"cpu", "webgpu@safari", Unfit}, {"cpu", "cuda", FallsBack}} {
		a := Announcement{Offers: []Offer{offer(c.has, 0)}}
		if fit, _ := a.Suits(on(c.asked, cell.Plan{}, Needs{})); fit != c.fit {
			t.Errorf("%s for %s: %q, want %q", c.has, c.asked, fit, c.fit)
		}
	}
}

// One of several guests with the same browser can be asked for, and what it has is all that counts then.
func TestGuest(t *testing.T) {
	t.Parallel()
	on := func(target, guest string) Task {
		return NewTask(cell.Cell{Type: "bert", Target: target}, cell.Plan{Strict: true}, Needs{Labels: map[string]string{GuestLabel: guest}})
	}
	offer := func(target, guest string) Offer {
		p, err := platform.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		return Offer{Target: p, Guest: guest}
	}
	a := Announcement{Offers: []Offer{offer("cpu", ""), offer("webgpu@chrome", "lab-1"), offer("webgpu@chrome", "lab-2"), offer("webnn@chrome", "lab-2")}}
	for _, c := range []struct {
		task    Task
		fit     Fit
		missing string
	}{
		{on("webgpu@chrome", "lab-1"), Direct, ""},
		{on("webnn@chrome", "lab-2"), Direct, ""},
		{on("webnn@chrome", "lab-1"), Unfit, "webnn@chrome"},
		{on("cpu", "lab-1"), Unfit, "cpu"},
		{on("mps", "lab-1"), Unfit, "mps"},
		{on("webgpu@chrome", "lab-3"), Unfit, "the label guest=lab-3"},
	} {
		if fit, missing := a.Suits(c.task); fit != c.fit || missing != c.missing {
			t.Errorf("%s %+v: %q, %q; want %q, %q", c.task.Cell.Target, c.task.Needs, fit, missing, c.fit, c.missing)
		}
	}
	if len(a.Offers) != 4 || a.Offers[1].String() != "webgpu@chrome (lab-1)" || on("webgpu@chrome", "lab-1").Lane() == on("webgpu@chrome", "lab-2").Lane() {
		t.Errorf("%v", a.Offers)
	}
}

// Lanes are subjects: one token, and as many as there are kinds of needs.
func TestLane(t *testing.T) {
	t.Parallel()
	lanes := map[string]bool{}
	for _, target := range []string{"cpu", "cpu/noop", "cuda:1", "cuda:1/onnxruntime", "webgpu@firefox", "openvino:GPU.1"} {
		task := NewTask(cell.Cell{Type: "bert", Target: target}, cell.Plan{}, Needs{})
		lanes[task.Lane()] = true
		task.Needs.Labels = map[string]string{"a": "b"}
		lanes[task.Lane()] = true
	}
	if len(lanes) != 12 {
		t.Errorf("%v", lanes)
	}
	for lane := range lanes {
		if strings.ContainsAny(lane, ".*> /:@\t") {
			t.Errorf("%q cannot be part of a subject", lane)
		}
	}
}

// Whatever happens in whatever order, a task has at most one accepted answer, its
// sweep at most one answer, at most two workers die of it; and a board that
// reads the events again is the same.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := newTable(noop)
		given := map[int]string{}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "worker")
			attempt := rapid.IntRange(1, 6).Draw(r, "attempt")
			switch rapid.IntRange(0, 7).Draw(r, "step") {
			case 0, 1:
				if g := b.begin(name); g.Run {
					given[g.Attempt] = name
				}
			case 2:
				class := rapid.SampledFrom([]cell.FailureClass{"", "", cell.Crash, cell.Driver, cell.WrongOutput}).Draw(r, "class")
				o := b.finish(name, attempt, class)
				if o == Accepted && given[attempt] != name {
					r.Fatalf("%s's answer to attempt %d was accepted, which is %s's", name, attempt, given[attempt])
				}
			case 3:
				if a := b.Work(noop.Key).Current(); a != nil {
					b.lose(a.Worker, a.N)
				}
			case 4:
				delete(b.dead, name+"-1")
			case 5:
				b.apply(b.Exhaust(noop.Key, b.now)...)
			case 6:
				b.alone = !b.alone
			case 7:
				b.copies = !b.copies
			}
		}
		if n := len(b.Sweep("s1").Answers); n > 1 || b.Tally.Accepted > 1 || b.Tally.Accepted+b.Tally.Dead > 1 {
			r.Fatalf("%d answers, %+v", n, b.Tally)
		}
		if w := b.Work(noop.Key); len(w.Open()) > 2 || w.State.UnderWay() != (len(w.Open()) > 0) {
			r.Fatalf("%s, under way: %+v", w.State, w.Open())
		}
		if w := b.Work(noop.Key); len(w.killed()) > mostKilled || w.State.Ended() != (len(b.Sweep("s1").Answers) == 1) {
			r.Fatalf("%+v", w)
		}
		again := NewBoard()
		for i, e := range b.events {
			body, err := json.Marshal(e)
			if err != nil {
				r.Fatal(err)
			}
			var back Event
			if err := json.Unmarshal(body, &back); err != nil {
				r.Fatal(err)
			}
			again.Apply(back, Ref{Offset: int64(i + 1)})
		}
		x, y := b.Work(noop.Key), again.Work(noop.Key)
		if again.Tally != b.Tally || x.State != y.State || !slices.EqualFunc(x.Attempts, y.Attempts, func(a, b Attempt) bool {
			return a.N == b.N && a.End == b.End && a.Worker == b.Worker && a.Copy == b.Copy
		}) {
			r.Fatalf("%+v, read again %+v", x, y)
		}
	})
}
