package lab

import (
	"context"
	"slices"

	"assay/internal/cell"
	"assay/internal/runner"
)

// leaving is a timed child that has said all it had to say and is being torn
// down. The driver takes a tenth of a second to free a GPU's context, and in
// that time the next child can be forked and its model built: it is half a
// second from being timed. Nil is nobody.
type leaving chan struct{}

// wait returns when the child is gone.
func (l leaving) wait() {
	if l != nil {
		<-l
	}
}

// gone says whether the child is.
func (l leaving) gone() bool {
	select {
	case <-l:
		return true
	default:
		return l == nil
	}
}

// leaves says whether a timed child need not be awaited: a tiny one, whose
// memory is nothing, where freeing the device takes long.
func leaves(c cell.Cell) bool {
	return c.Size == cell.Tiny && slices.Contains(dear, c.Platform)
}

// executeTimed carries a timed job out, alone: a child whose timed phase began
// before the one before it was gone has measured nothing, and is done again.
func (c *carrying) executeTimed(ctx context.Context, job runner.Job) (outcome, error) {
	for {
		run := c.timeAfter(ctx, c.leaving, job)
		if run.err != nil || !run.disturbed {
			return run.out, run.err
		}
		c.leaving.wait()
	}
}

// timedRun is what came of a timed child.
type timedRun struct {
	out       outcome
	disturbed bool // its timed phase began beside another child
	err       error
}

// timeAfter carries the job out while another child may still be leaving, and
// returns when all is said.
func (c *carrying) timeAfter(ctx context.Context, last leaving, job runner.Job) timedRun {
	said, ended, gone := make(chan timedRun, 1), make(chan timedRun, 1), make(leaving)
	go func() {
		defer close(gone)
		over, disturbed := false, false
		hear := func(g *gatherer, e runner.Event) {
			begin, isTimed := e.(runner.Timed)
			disturbed = disturbed || isTimed && begin.State == "begin" && !last.gone()
			if !over && leaves(job.Cell) && g.complete() {
				over = true
				g.took()
				said <- timedRun{out: g.outcome, disturbed: disturbed}
			}
		}
		out, err := c.executeHearing(ctx, job, hear)
		ended <- timedRun{out, disturbed, err}
	}()
	select {
	case run := <-said:
		c.leaving = gone
		return run
	case run := <-ended:
		c.leaving = nil
		return run
	}
}

// complete says whether every point has been reported and nothing went wrong.
func (g *gatherer) complete() bool { return g.raised == nil && len(g.points) == g.asked }
