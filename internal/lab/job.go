package lab

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/runner"
)

// outcome is what one child said of its job.
type outcome struct {
	reports  map[int]runner.Report // by point
	phases   map[string]float64    // ms, of the job as a whole
	failure  *cell.Failure         // why it ended early
	failedAt int                   // the point that failed; -1 when the whole job did
	harness  []float64             // share of a core that the harness used in each timed phase
	overhead time.Duration         // dispatch to exit, less the phases timed in the child
	wall     time.Duration
}

// execute runs one job under its time limit and gathers what the child says.
// The error is for a plan that cannot go on; a failing job is an outcome.
func (c *carrying) execute(ctx context.Context, job runner.Job) (outcome, error) {
	limit := c.Limit
	if c.plan.TimeoutS > 0 {
		limit = time.Duration(c.plan.TimeoutS * float64(time.Second))
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	g := &gatherer{outcome: outcome{reports: map[int]runner.Report{}, phases: map[string]float64{}, failedAt: -1}}
	before, _ := oomKills()
	start := time.Now()
	exit, err := c.Runner.Run(timed, job, g.event)
	g.wall = time.Since(start)
	g.overhead = g.wall - g.own()
	if cause := context.Cause(ctx); cause != nil {
		return outcome{}, cause
	}
	var gone *runner.GaveUpError
	if errors.As(err, &gone) {
		return outcome{}, err
	}
	after, told := oomKills()
	g.oomKilled = told && after > before && exit.Signal == int(syscall.SIGKILL) && exit.Killed == ""
	g.conclude(job, exit, err, limit)
	return g.outcome, nil
}

// gatherer turns a job's events into its outcome.
type gatherer struct {
	outcome
	raised *runner.Failure
	meter  meter
	// oomKilled says that the kernel killed for memory while the child died of SIGKILL.
	oomKilled bool
}

func (g *gatherer) event(e runner.Event) {
	switch e := e.(type) {
	case runner.Phase:
		g.phases[e.Name] += e.MS
	case runner.Timed:
		if share, ok := g.meter.mark(e); ok {
			g.harness = append(g.harness, share)
		}
	case runner.PointDone:
		report, err := e.Decode()
		if err != nil {
			g.raised = &runner.Failure{Index: &e.Index, Message: err.Error()}
			return
		}
		g.reports[e.Index] = report
	case runner.Failure:
		g.raised = &e
	}
}

// own is the time that the child itself accounts for: the model's own work.
// Imports and starting up are the harness's.
func (g *gatherer) own() time.Duration {
	var ms float64
	for name, v := range g.phases {
		if name != "import" {
			ms += v
		}
	}
	for _, r := range g.reports {
		for _, v := range r.SamplesMS {
			ms += v
		}
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// conclude decides whether the job failed, and as what.
func (g *gatherer) conclude(job runner.Job, exit runner.Exit, lost error, limit time.Duration) {
	answered := len(g.reports) == len(job.Points)
	if g.raised == nil && lost == nil && exit.Outcome() == runner.Finished && answered {
		return
	}
	e := failure.Evidence{
		Signal: exit.Signal, ExitStatus: exit.Status, Log: exit.Log, ProtocolError: exit.ProtocolError,
		Platform: string(job.Cell.Platform), DType: string(job.Cell.DType), Killed: exit.Killed, OOMKilled: g.oomKilled,
	}
	if g.raised != nil {
		e.Exception, e.Bases, e.Message, e.Traceback, e.Phase = g.raised.Type, g.raised.Bases, g.raised.Message, g.raised.Traceback, g.raised.Phase
		if g.raised.Index != nil {
			g.failedAt = *g.raised.Index
		}
	}
	switch {
	case exit.Killed == "timeout":
		e.Message = fmt.Sprintf("no answer within %s", limit)
	case lost != nil:
		e.Lost = lost.Error()
	case exit.StartError != "":
		e.Lost = exit.StartError
	case exit.Outcome() == runner.Finished && g.raised == nil:
		// A library may end the process with status 0; that is no success.
		f := failure.Of(cell.Crash, "ended by itself with status 0 and no word about its result")
		f.Log = exit.Log
		g.failure = &f
		return
	}
	f := failure.Classify(e)
	g.failure = &f
}
