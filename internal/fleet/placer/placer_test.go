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
	p := New()
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
		key, _, ok := p.Next(now, "a")
		if !ok || key != want.Key {
			t.Fatalf("got %q, want %s", key, want.Cell.Type)
		}
		p.Stopped(key, "a")
	}
}

// TestSpeed: a worker that was slower with what others have run leaves a long task to the fast one, which is busy
// for a moment.
func TestSpeed(t *testing.T) {
	t.Parallel()
	p := New()
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
	if key, _, ok := p.Next(now, "slow"); ok {
		t.Errorf("the slow one got %s", key)
	}
	p.Stopped(other.Key, "fast")
	if key, _, _ := p.Next(now, "fast"); key != x.Key {
		t.Errorf("the fast one got %q", key)
	}
}

// TestLanes: a worker gets tasks of its lanes only, and none while it is closed.
func TestLanes(t *testing.T) {
	t.Parallel()
	p := New()
	x := task("bert")
	p.Join(worker("a", "another"))
	p.Add(x, nil)
	if key, _, ok := p.Next(now, "a"); ok {
		t.Errorf("it got %s, which is of no lane of its", key)
	}
	closed := worker("a", x.Lane())
	closed.Closed = "it is drained"
	p.Join(closed)
	if key, _, ok := p.Next(now, "a"); ok {
		t.Errorf("it is drained and got %s", key)
	}
	p.Join(worker("a", x.Lane()))
	if key, _, _ := p.Next(now, "a"); key != x.Key {
		t.Errorf("it got %q", key)
	}
	p.Leave("a")
	p.Add(x, nil)
	if _, _, ok := p.Next(now, "a"); ok {
		t.Error("it has left and got a task")
	}
}
