package placer

import (
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/platform"
)

var now = time.Unix(1e9, 0)

func task(name string) fleet.Task {
	t := fleet.NewTask(cell.Cell{Type: name}, cell.Plan{Timing: cell.Functional}, fleet.Needs{})
	t.Queued = now
	return t
}

func none(string) (fleet.Task, bool) { return fleet.Task{}, false }

func worker(name string, lanes ...string) Worker {
	w := Worker{Name: name, Where: name, Slots: 1, Lanes: map[string]platform.Target{}}
	for _, lane := range lanes {
		w.Lanes[lane] = task("bert").Needs.Target
	}
	return w
}

// TestOrder: urgent tasks and what has waited for hours come first, then long ones.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := New(none)
	short, long, urgent, old := task("bert"), task("vit"), task("t5"), task("clip")
	p.Join(worker("a", short.Lane()))
	for _, x := range []fleet.Task{short, urgent, old} {
		p.Learn(x, "a", time.Second)
	}
	p.Learn(long, "a", time.Minute)
	urgent.Priority, old.Queued = 1, now.Add(-3*time.Hour)
	for _, x := range []fleet.Task{short, long, urgent, old} {
		p.Add(x, nil)
	}
	for _, want := range []fleet.Task{old, urgent, long, short} {
		d, ok := p.Next(now, "a")
		if !ok || d.Key != want.Key {
			t.Fatalf("got %q, want %s", d.Key, want.Cell.Type)
		}
		p.Stopped(d.Key, "a")
	}
}

// TestSpeed: a worker that was slower with what others have run leaves a long task to the fast one, which is busy
// for a moment.
func TestSpeed(t *testing.T) {
	t.Parallel()
	p := New(none)
	x, other := task("bert"), task("vit")
	p.Join(worker("fast", x.Lane()))
	p.Join(worker("slow", x.Lane()))
	for range 30 {
		p.Learn(x, "fast", 10*time.Second)
		p.Learn(x, "slow", 100*time.Second)
		p.Learn(other, "fast", time.Second)
	}
	p.Add(other, nil)
	p.Add(x, []string{"slow"})
	p.Began(now, other, "fast")
	p.Add(x, nil)
	if d, ok := p.Next(now, "slow"); ok {
		t.Errorf("the slow one got %s", d.Key)
	}
	p.Stopped(other.Key, "fast")
	if d, _ := p.Next(now, "fast"); d.Key != x.Key {
		t.Errorf("the fast one got %q", d.Key)
	}
}

// TestLanes: a worker gets tasks of its lanes only, and none while it is closed.
func TestLanes(t *testing.T) {
	t.Parallel()
	p := New(none)
	x := task("bert")
	p.Join(worker("a", "another"))
	p.Add(x, nil)
	if d, ok := p.Next(now, "a"); ok {
		t.Errorf("it got %s, which is of no lane of its", d.Key)
	}
	closed := worker("a", x.Lane())
	closed.Closed = "it is drained"
	p.Join(closed)
	if d, ok := p.Next(now, "a"); ok {
		t.Errorf("it is drained and got %s", d.Key)
	}
	p.Join(worker("a", x.Lane()))
	if d, _ := p.Next(now, "a"); d.Key != x.Key {
		t.Errorf("it got %q", d.Key)
	}
	p.Leave("a")
	p.Add(x, nil)
	if _, ok := p.Next(now, "a"); ok {
		t.Error("it has left and got a task")
	}
}

// TestAhead: what turned out to be short since it was queued lies ready beside a task that has just begun; not beside one
// that has run for seconds.
func TestAhead(t *testing.T) {
	t.Parallel()
	tasks := map[string]fleet.Task{}
	p := New(func(key string) (fleet.Task, bool) { x, ok := tasks[key]; return x, ok })
	first := task("bert")
	p.Join(worker("a", first.Lane()))
	for seed := range 40 {
		x := fleet.NewTask(cell.Cell{Type: "bert", Seed: seed + 1}, cell.Plan{Timing: cell.Functional}, fleet.Needs{})
		x.Queued = now
		tasks[x.Key] = x
		p.Add(x, nil)
	}
	guessed, ok := p.Next(now, "a")
	if !ok || guessed.Ahead {
		t.Fatalf("%+v, %t", guessed, ok)
	}
	if d, ok := p.Next(now, "a"); ok {
		t.Errorf("nobody knew how long %s takes, and %+v would lie behind it", guessed.Key, d)
	}
	p.Learn(tasks[guessed.Key], "a", 3*time.Millisecond)
	p.Stopped(guessed.Key, "a")
	known, _ := p.Next(now, "a")
	ahead := 0
	for d, ok := p.Next(now, "a"); ok; d, ok = p.Next(now, "a") {
		if !d.Ahead {
			t.Errorf("%+v is beside %s", d, known.Key)
		}
		ahead++
	}
	if ahead != 32 {
		t.Errorf("%d lie ready", ahead)
	}
}

// TestStalled: nothing is put behind a task that has run for seconds, whatever was expected.
func TestStalled(t *testing.T) {
	t.Parallel()
	one, other := task("bert"), task("vit")
	p := New(func(key string) (fleet.Task, bool) {
		return map[string]fleet.Task{one.Key: one, other.Key: other}[key], true
	})
	p.Join(worker("a", one.Lane()))
	for _, x := range []fleet.Task{one, other} {
		p.Learn(x, "a", 3*time.Millisecond)
		p.Add(x, nil)
	}
	if _, ok := p.Next(now, "a"); !ok {
		t.Fatal("nothing to run")
	}
	if d, ok := p.Next(now.Add(3*time.Second), "a"); ok {
		t.Errorf("%+v", d)
	}
	if d, ok := p.Next(now.Add(time.Second), "a"); !ok || !d.Ahead {
		t.Errorf("%+v, %t", d, ok)
	}
}
