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

// A task that runs too long is copied by a faster worker that is idle. The first answer counts, and the other worker
// stops and gets tasks again.
func TestCopies(t *testing.T) {
	t.Parallel()
	var later atomic.Int64 // what the coordinator's clock is ahead
	g := newGround(t, Config{Lease: 8 * time.Second, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	begun, stopped := make(chan struct{}), make(chan struct{})
	var blocked atomic.Bool
	g.work("slow", func(ctx context.Context, c cell.Cell) (cell.Result, error) {
		if blocked.Swap(true) {
			return works(ctx, c)
		}
		close(begun)
		<-ctx.Done()
		close(stopped)
		return cell.Result{}, ctx.Err()
	})
	task := noops(1, cell.Plan{}, fleet.Needs{})[0]
	g.send("s1", task)
	<-begun
	stop := g.work("fast", works, func(c *worker.Config) {
		c.Speed = map[string]float64{task.Needs.Target.String(): 10}
	})
	later.Store(int64(6 * time.Second)) // longer than anybody would expect, and within the lease
	answers := g.answers("s1")
	if len(answers) != 1 || answers[0].Worker != "fast" || result(t, answers[0]).Verdict != cell.Works {
		t.Fatalf("%+v", answers)
	}
	tasks, err := g.Tasks(t.Context(), fleet.TaskQuestion{Sweep: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if at := tasks[0].Attempts; len(at) != 2 || at[0].End != fleet.EndOvertaken || !at[1].Copy || at[1].End != fleet.EndAccepted {
		t.Errorf("%+v", at)
	}
	<-stopped
	stop()
	g.send("s2", noops(3, cell.Plan{}, fleet.Needs{})[1:]...)
	if n := len(g.answers("s2")); n != 2 {
		t.Errorf("%d answers of the worker that was overtaken", n)
	}
	if s, err := g.Status(t.Context()); err != nil || s.Tally.Copies != 1 || s.Tally.Accepted != 3 {
		t.Errorf("%v, %+v", err, s.Tally)
	}
}
