package coordinator

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/worker"
)

// Short tasks lie ready at a worker; when one of them turns out long, the others go to whoever is free, long before
// they would count as overdue.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{Lease: 20 * time.Second}) // overdue is four times as much
	const tasks = 12
	long, free := make(chan struct{}), make(chan struct{})
	var ran atomic.Int32
	g.work("a", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		if ran.Add(1) == 3 {
			close(long)
			select {
			case <-free:
			case <-ctx.Done():
			}
		}
		return works(ctx, c)
	})
	g.send("s1", noops(tasks, cell.Plan{}, fleet.Needs{})...)
	<-long
	g.mu.Lock()
	ready := 0
	for _, at := range g.dealt {
		if d := at["a"]; d != nil && d.ahead && !d.begun {
			ready++
		}
	}
	g.mu.Unlock()
	if ready == 0 {
		t.Error("nothing lies ready behind the long one")
	}
	var others atomic.Int32
	g.work("b", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		if others.Add(1) == tasks-3 {
			close(free)
		}
		return works(ctx, c)
	})
	if n := len(g.answers("s1")); n != tasks {
		t.Errorf("%d answers", n)
	}
}

// slow is a desk whose answer to an answer takes a while.
type slow struct {
	fleet.Desk
	bringing atomic.Bool
}

func (s *slow) Finish(ctx context.Context, a fleet.Answer) (fleet.Outcome, error) {
	s.bringing.Store(true)
	defer s.bringing.Store(false)
	o, err := s.Desk.Finish(ctx, a)
	time.Sleep(200 * time.Millisecond)
	return o, err
}

// An answer is brought while the next task runs, unless that one is timed.
func TestBringing(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{})
	desk := &slow{Desk: g}
	var beside, timed atomic.Int32
	var timing atomic.Bool
	g.work("a", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		if timing.Load() {
			timed.Add(1)
		}
		if desk.bringing.Load() {
			beside.Add(1)
		}
		return works(ctx, c)
	}, func(c *worker.Config) { c.Desk = desk })
	g.send("s1", noops(5, cell.Plan{}, fleet.Needs{})...)
	g.answers("s1")
	if beside.Load() == 0 {
		t.Error("no task ran while an answer was brought")
	}
	beside.Store(0)
	timing.Store(true)
	g.send("s2", noops(5, cell.Plan{Timing: cell.Quick}, fleet.Needs{})...) // the last answer is being brought
	g.answers("s2")
	if timed.Load() != 5 || beside.Load() != 0 {
		t.Errorf("%d of %d timed tasks ran while an answer was brought", beside.Load(), timed.Load())
	}
}
