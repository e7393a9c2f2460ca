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

// breaks is a machine on which nothing runs, which it notices at once.
func breaks(_ context.Context, c cell.Cell) (cell.Result, error) {
	f := cell.Failure{Class: cell.Environment, Detail: "the runner does not start"}
	return cell.Result{Cell: c, Verdict: cell.Unknown, Evidence: cell.None, Failure: &f, StartedAt: time.Now()}, nil
}

// slowly works, taking a little while.
func slowly(ctx context.Context, c cell.Cell) (cell.Result, error) {
	time.Sleep(10 * time.Millisecond)
	return works(ctx, c)
}

// A machine on which everything fails at once takes few tasks, since it waits between them; another one runs them.
func TestBrokenMachineTakesFewTasks(t *testing.T) {
	t.Parallel()
	const tasks = 200
	g := newGround(t, Config{})
	g.work("bad", breaks)
	g.work("good", slowly)
	g.send("s1", noops(tasks, cell.Plan{}, fleet.Needs{})...)
	if n := len(g.answers("s1")); n != tasks {
		t.Errorf("%d answers", n)
	}
	s, err := g.Status(t.Context())
	if err != nil || s.Tally.Accepted != tasks || s.Tally.Failed > 10 {
		t.Errorf("%v: %+v", err, s.Tally)
	}
}

// One that goes on so has to show that it is healthy before it gets another task, and is quarantined if it is not.
func TestBrokenMachineIsChecked(t *testing.T) {
	t.Parallel()
	g := newGround(t, Config{CheckEvery: time.Hour})
	var checks atomic.Int32
	g.work("bad", breaks, func(c *worker.Config) {
		c.Slots = 4 // so that it fails often enough soon
		c.Check = func(context.Context) (string, []cell.Result) {
			if checks.Add(1) > 1 {
				return "the runner does not start", nil
			}
			return "", nil
		}
	})
	g.work("good", slowly, func(c *worker.Config) {
		c.Check = func(context.Context) (string, []cell.Result) { return "", nil }
	})
	g.send("s1", noops(1500, cell.Plan{}, fleet.Needs{})...)
	g.until("the broken machine is quarantined", func(s fleet.Status) bool {
		return s.Workers[0].Name == "bad" && s.Workers[0].Quarantined != ""
	})
}
