package placer

import (
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/coordinator"
)

var now = time.Unix(1e9, 0)

func task(name string) fleet.Task {
	t := fleet.NewTask(cell.Cell{Type: name}, cell.Plan{Timing: cell.Functional}, fleet.Needs{})
	t.Queued = now
	return t
}

func TestOrder(t *testing.T) {
	t.Parallel()
	var p Placer
	short, long, urgent, old := task("bert"), task("vit"), task("t5"), task("clip")
	p.Learn(short, "a", time.Second)
	p.Learn(long, "a", time.Minute)
	p.Learn(urgent, "a", time.Second)
	p.Learn(old, "a", time.Second)
	urgent.Priority, old.Queued = 1, now.Add(-3*time.Hour)
	tasks := []fleet.Task{short, long, urgent, old}
	p.Order(tasks, now)
	var got []string
	for _, x := range tasks {
		got = append(got, x.Cell.Type)
	}
	if got[0] != "clip" || got[1] != "t5" || got[2] != "vit" || got[3] != "bert" {
		t.Errorf("%q", got)
	}
}

// TestWait: a slow worker leaves a task to a fast one that is idle, a few times; not to one that is busy, and not
// when it is not slow.
func TestWait(t *testing.T) {
	t.Parallel()
	var p Placer
	x := task("bert")
	for range 30 {
		p.Learn(x, "fast", 10*time.Second)
		p.Learn(x, "slow", 100*time.Second)
	}
	of := func(all ...coordinator.Able) func() []coordinator.Able {
		return func() []coordinator.Able { return all }
	}
	idle, busy := coordinator.Able{Worker: "fast", Slots: 1}, coordinator.Able{Worker: "fast", Slots: 1, Busy: []coordinator.Busy{{Task: x}}}
	slow := coordinator.Able{Worker: "slow", Slots: 1}
	if got := p.Wait(x, "slow", of(busy, slow), now); got != 0 {
		t.Errorf("the fast one is busy: wait %v", got)
	}
	if got := p.Wait(x, "fast", of(idle, slow), now); got != 0 {
		t.Errorf("the fast one waits %v", got)
	}
	waits := 0
	for p.Wait(x, "slow", of(idle, slow), now) > 0 {
		if waits++; waits > atMost {
			t.Fatal("it is left for ever")
		}
	}
	if waits != atMost {
		t.Errorf("it was left %d times", waits)
	}
}
