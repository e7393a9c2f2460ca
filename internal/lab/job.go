package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"syscall"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/runner"
)

// outcome is what one child said of its job.
type outcome struct {
	points   map[int]pointRun   // those that were finished, by index
	phases   map[string]float64 // ms, of the job as a whole
	failure  *cell.Failure      // why it ended early
	failedAt int                // the point that failed: the first that was not finished
	whole    bool               // it failed before any point was begun: all of them fail
	again    string             // why it was done twice; "" when it was not
	level    string             // of instruction sets, at which its child ran; "" is none
	overhead time.Duration      // dispatch to exit, less the phases timed in the child
	wall     time.Duration
	before   int // jobs that the same child had carried out
}

// pointRun is what one child saw of one point.
type pointRun struct {
	runner.Report
	phases  map[string]float64 // ms, the job's and the point's own
	harness *float64           // share of a core that the harness used in its timed phase
}

// execute runs one job under its time limit and gathers what the child says.
// The error is for a plan that cannot go on; a failing job is an outcome.
func (c *carrying) execute(ctx context.Context, job runner.Job) (outcome, error) {
	limit := c.limit(job)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	g := newGatherer(len(job.Points))
	before, _ := oomKills()
	start := time.Now()
	exit, err := c.Runner.Run(timed, job, g.event)
	g.wall = time.Since(start)
	g.overhead = g.wall - g.accounted()
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

// limit is how long the child may take: as the plan says, or the lab's own
// limit and, for each further point, as long as its stop rule allows.
func (c *carrying) limit(job runner.Job) time.Duration {
	if c.plan.TimeoutS > 0 {
		return time.Duration(c.plan.TimeoutS * float64(time.Second))
	}
	limit := c.Limit
	if job.Timing != nil {
		each := 2 * (job.Timing.MaxS + job.Timing.WarmupMaxS)
		limit += time.Duration(float64(max(0, len(job.Points)-1)) * each * float64(time.Second))
	}
	return limit
}

// gatherer turns a job's events into its outcome.
type gatherer struct {
	outcome
	asked  int                // points
	own    map[string]float64 // phases of the point under way
	share  *float64           // the harness's, of the point under way
	raised *runner.Failure
	meter  meter
	// oomKilled says that the kernel killed for memory while the child died of SIGKILL.
	oomKilled bool
}

func newGatherer(points int) *gatherer {
	return &gatherer{outcome: outcome{points: map[int]pointRun{}, phases: map[string]float64{}}, own: map[string]float64{}, asked: points}
}

// perPoint are the phases that come once for each point.
var perPoint = map[string]bool{"run": true, "first": true, "warmup": true, "control": true}

func (g *gatherer) event(e runner.Event) {
	switch e := e.(type) {
	case runner.Again: // the dead child's words are worth nothing
		*g = *newGatherer(g.asked)
		g.again = e.Why
	case runner.AtLevel:
		g.level = e.Level
	case runner.Started:
		g.before = e.Before
	case runner.Phase:
		if perPoint[e.Name] {
			g.own[e.Name] += e.MS
		} else {
			g.phases[e.Name] += e.MS
		}
	case runner.Timed:
		if share, ok := g.meter.mark(e); ok {
			g.share = &share
		}
	case runner.PointDone:
		g.point(e)
	case runner.Failure:
		g.raised = &e
	}
}

// point takes a finished point. What is not as the protocol says fails the job.
func (g *gatherer) point(e runner.PointDone) {
	report, err := e.Decode()
	if err == nil {
		err = miscounted(report.Generation)
	}
	if err == nil && (e.Index < 0 || e.Index >= g.asked) {
		err = fmt.Errorf("it reported point %d of %d", e.Index, g.asked)
	}
	if err != nil {
		g.raised = &runner.Failure{Message: err.Error()}
		return
	}
	maps.Copy(g.own, report.PhasesMS)
	g.points[e.Index] = pointRun{Report: report, phases: g.own, harness: g.share}
	g.own, g.share = map[string]float64{}, nil
}

// within are phases that are parts of others.
var within = map[string]bool{"load": true, "fetch": true, "create": true}

// accounted is the time that the child itself accounts for: the model's own
// work. Imports and starting up are the harness's.
func (g *gatherer) accounted() time.Duration {
	var ms float64
	add := func(phases map[string]float64) {
		for name, v := range phases {
			if name != "import" && !within[name] {
				ms += v
			}
		}
	}
	add(g.phases)
	add(g.own)
	for _, p := range g.points {
		add(p.phases)
		for _, v := range p.SamplesMS {
			ms += v
		}
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// conclude decides whether the job failed, and as what.
func (g *gatherer) conclude(job runner.Job, exit runner.Exit, lost error, limit time.Duration) {
	for g.failedAt = 0; g.failedAt < len(job.Points); g.failedAt++ {
		if _, done := g.points[g.failedAt]; !done {
			break
		}
	}
	// What was reported stands, however the child ended later.
	if len(g.points) == len(job.Points) && g.raised == nil {
		return
	}
	g.whole = len(g.points) == 0 && (g.raised == nil || g.raised.Index == nil)
	e := failure.Evidence{
		Signal: exit.Signal, ExitStatus: exit.Status, Log: exit.Log, ProtocolError: exit.ProtocolError,
		Platform: string(job.Cell.Platform), Engine: string(job.Cell.Engine), DType: string(job.Cell.DType), Cache: job.Cell.Cache, Killed: exit.Killed, OOMKilled: g.oomKilled,
	}
	if g.raised != nil {
		e.Exception, e.Bases, e.Message, e.Traceback, e.Phase = g.raised.Type, g.raised.Bases, g.raised.Message, g.raised.Traceback, g.raised.Phase
	}
	switch {
	case exit.Killed == "timeout":
		e.Message = fmt.Sprintf("no answer within %s", limit)
	case lost != nil:
		e.Lost = lost.Error()
	case exit.StartError != "":
		e.Lost = exit.StartError
	case exit.Outcome() == runner.Finished && g.raised == nil:
		// A library may end the process with status 0; that is not a success.
		f := failure.OfLog(cell.Crash, "ended by itself with status 0 and no result", exit.Log)
		g.failure = &f
		return
	}
	f := failure.Classify(e)
	g.failure = &f
}
