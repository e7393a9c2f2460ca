package worker

import (
	"context"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/memory"
	"assay/internal/platform"
	"assay/internal/progress"
)

// deaf is a coordinator that takes no answers: it was there, and is away now.
type deaf struct {
	key     string
	asked   chan struct{} // an answer was brought
	leaving chan struct{}
}

func (d *deaf) orders() fleet.Orders {
	return fleet.Orders{Lease: 15 * time.Second, Lanes: []string{fleet.LaneOf("a")}}
}

func (d *deaf) Hello(context.Context, fleet.Announcement) (fleet.Orders, error) {
	return d.orders(), nil
}

func (d *deaf) Beat(_ context.Context, b fleet.Beat) (fleet.Orders, error) {
	if b.Leaving {
		close(d.leaving)
	}
	return d.orders(), nil
}

func (d *deaf) Begin(context.Context, fleet.Beginning) (fleet.Grant, error) {
	return fleet.Grant{Run: true, Attempt: 1}, nil
}

func (d *deaf) Finish(ctx context.Context, _ fleet.Answer) (fleet.Outcome, error) {
	close(d.asked)
	<-ctx.Done()
	return "", context.Cause(ctx)
}

func (d *deaf) Health(context.Context, fleet.Health) (fleet.Orders, error) { return d.orders(), nil }

type works struct{}

func (works) Carry(_ context.Context, plan cell.Plan, on progress.Listener) error {
	return on.Hear(progress.Finished(cell.Result{Cell: plan.Cells[0], Verdict: cell.Works}))
}

// A worker that is stopped while it brings an answer to a coordinator that does not answer ends soon.
func TestStoppedWhileBringing(t *testing.T) {
	t.Parallel()
	q := memory.New(fleet.Limits{})
	task := fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop}, cell.Plan{}, fleet.Needs{})
	task.To = "a"
	if _, err := q.Put(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	d := &deaf{key: task.Key, asked: make(chan struct{}), leaving: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- New(Config{Announcement: fleet.Announcement{Worker: "a", Incarnation: "1", Slots: 1}, Desk: d, Queue: q, Carrier: works{}}).Run(ctx)
	}()
	<-d.asked
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(giveUp + 10*time.Second):
		t.Fatal("it waits for the coordinator")
	}
	select {
	case <-d.leaving:
	default:
		t.Error("it did not say goodbye")
	}
}
