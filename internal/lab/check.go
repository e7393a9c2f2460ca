package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/runner"

	"golang.org/x/sync/errgroup"
)

// attempt is a route being carried out: what is asked now, after adaptation.
type attempt struct {
	route
	recipe   Recipe
	now      cell.Cell // settings as they are tried now
	attempts int
	widened  string // why half precision was given up for fp32; "" when it was not
	untried  string // why a step of a fallback was left alone; "" when it was not
	began    time.Time
	result   *cell.Result // once the check is done
}

// checkAll runs a functional plan.
func (c *carrying) checkAll(ctx context.Context, routes []route) error {
	c.announce(routes)
	release, err := c.hush(ctx, false)
	if err != nil {
		return err
	}
	defer release()
	if err := c.deriveAll(ctx, routes); err != nil {
		return err
	}
	return c.each(ctx, groups(routes), func(ctx context.Context, g group) error {
		done, err := c.check(ctx, g)
		for _, a := range done {
			c.finish(*a.result)
		}
		return err
	})
}

// announce finishes what cannot run here and of which nothing is derived.
func (c *carrying) announce(routes []route) {
	for _, r := range routes {
		if r.absent != "" && !c.derives(r) {
			c.finish(c.unavailable(r))
		}
	}
}

// hush asks the other programs on this host for silence, or joins them.
func (c *carrying) hush(ctx context.Context, alone bool) (func(), error) {
	if c.Hush == nil {
		return func() {}, nil
	}
	return c.Hush(ctx, alone, c.note)
}

// each runs groups in parallel; admission bounds how many at once. The
// first error stops the rest.
func (c *carrying) each(ctx context.Context, gs []group, do func(context.Context, group) error) error {
	work, stopped := errgroup.WithContext(ctx)
	work.SetLimit(max(1, c.Workers))
	for _, g := range gs {
		work.Go(func() error {
			if stopped.Err() != nil {
				return context.Cause(stopped)
			}
			return do(stopped, g)
		})
	}
	if err := work.Wait(); err != nil {
		return context.Cause(stopped) // the caller's own reason, if that came first
	}
	return context.Cause(ctx) // it may have come after the last group
}

// check carries a group's functional part out, adaptation and second routes
// included, and returns those of its attempts that have a result, all of them
// unless there is an error.
func (c *carrying) check(ctx context.Context, g group) ([]*attempt, error) {
	var done []*attempt
	open, err := c.open(ctx, g)
	if err != nil {
		return nil, err
	}
	for len(open) > 0 {
		a := open[0]
		if a.result != nil {
			open, done = open[1:], append(done, a)
			continue
		}
		batch := sameSettings(open)
		out, err := c.checkOnce(ctx, batch)
		if err != nil {
			return append(done, settled(open)...), err
		}
		c.settle(batch, out)
	}
	return c.seconds(ctx, done)
}

// settled are the attempts that have a result already.
func settled(open []*attempt) []*attempt {
	return slices.DeleteFunc(slices.Clone(open), func(a *attempt) bool { return a.result == nil })
}

// open begins a group's attempts. What has no recipe or cannot fit is settled
// at once. The error is for a plan that cannot go on.
func (c *carrying) open(ctx context.Context, g group) ([]*attempt, error) {
	recipe, err := c.Recipes.Recipe(ctx, g.head())
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if gone := (*runner.GaveUpError)(nil); errors.As(err, &gone) {
		return nil, err
	}
	out := make([]*attempt, len(g.routes))
	for i, r := range g.routes {
		if err == nil {
			r.cell = c.fitting(r.cell, recipe)
		}
		c.tell(progress.Started(r.cell))
		a := &attempt{route: r, recipe: recipe, now: r.cell, began: time.Now().UTC()}
		if err != nil {
			c.fail(a, noRecipe(err))
		} else {
			c.fit(a)
		}
		out[i] = a
	}
	return out, nil
}

// fitting drops an input size that the model has not, and says so: a result
// must not be labelled with what had no effect.
func (c *carrying) fitting(x cell.Cell, r Recipe) cell.Cell {
	if x.Engine == platform.Noop || x.Seq == 0 && x.Image == 0 {
		return x
	}
	for _, s := range []struct {
		name  string
		asked *int
		has   int
	}{{"length in tokens", &x.Seq, r.Seq}, {"image size", &x.Image, r.Image}} {
		if *s.asked > 0 && s.has == 0 {
			c.note(fmt.Sprintf("%s has a fixed %s: it runs with its own", x.Model(), s.name))
			*s.asked = 0
		}
	}
	return x.Normal()
}

// noRecipe is the failure of a cell that cannot be built from what is known.
func noRecipe(err error) cell.Failure {
	var f interface{ Failure() cell.Failure }
	if errors.As(err, &f) {
		return f.Failure()
	}
	return failure.Classify(failure.Evidence{Message: err.Error(), Phase: "recipe"})
}

// fit is the check before loading: settings are lowered until the weights can
// fit, or the attempt fails without having loaded anything. A step of a fallback
// must fit whole: nobody asked for it, and nobody waits minutes for what is
// bound to run out of memory. That only the check does not fit says nothing about
// the platform.
func (c *carrying) fit(a *attempt) {
	for {
		why := fits(a.now, a.recipe.Parameters, a.here, c.hostBytes)
		whole := ""
		if why == "" && a.absent != "" {
			whole = fitsWhole(a.now, a.recipe.Parameters, a.here.Software, c.hostBytes)
		}
		if why == "" && whole == "" {
			return
		}
		smaller, ok := smallerDType(a.now)
		switch stuck := c.plan.NoAdapt || !ok; {
		case stuck && why != "":
			c.fail(a, failure.Of(cell.OutOfMemory, why))
			return
		case stuck:
			c.leave(a, "not tried: "+whole)
			return
		}
		a.now.DType = smaller
		a.now = a.now.Normal()
	}
}

// sameSettings returns the open attempts that one child can serve with the first.
func sameSettings(open []*attempt) []*attempt {
	var out []*attempt
	for _, a := range open {
		if a.result == nil && a.now.DType == open[0].now.DType {
			out = append(out, a)
		}
	}
	return out
}

// checkOnce runs one child over the attempts' points.
func (c *carrying) checkOnce(ctx context.Context, batch []*attempt) (outcome, error) {
	a := batch[0]
	release, err := c.admit(ctx, estimate(a.now, a.recipe.Parameters, true, a.here.Software))
	if err != nil {
		return outcome{}, err
	}
	defer release()
	for _, a := range batch {
		a.attempts++
	}
	return c.executeCheck(ctx, c.job(runner.CheckJob, batch, nil), a.recipe)
}

// job is the child's task over these attempts.
func (c *carrying) job(kind runner.JobKind, batch []*attempt, timing *runner.TimingRule) runner.Job {
	a := batch[0]
	j := runner.Job{Kind: kind, Cell: a.now, Recipe: a.recipe.JSON, Weights: a.recipe.Weights, Timing: timing, Threads: c.threads(a, timing != nil), Preload: c.preloads(a, timing != nil)}
	switch {
	case a.now.Engine == platform.Noop:
		j.Kind = runner.NoopJob
	case a.now.Engine.Traits().Graphs:
		j.Options = map[string]any{"exports": c.Exports, "opset": c.Opset}
	}
	if kind == runner.TimeJob {
		j.Pin, _ = cell.ParseCPUs(c.plan.Pin) // the plan is normal: it can be read
	}
	if kind == runner.CheckJob && c.plan.Laws && lawful(a.now) {
		j.Laws, j.Repro = true, c.plan.Scripts
	}
	if c.Keep != "" && kind == runner.CheckJob {
		j.Options = withFiles(j.Options, c.Keep, batch)
	}
	for _, a := range batch {
		j.Points = append(j.Points, runner.Point{Batch: a.now.Batch, Seq: a.now.Seq, Image: a.now.Image})
	}
	return j
}

// lawful says whether laws are tried with a cell: once for each model, where it
// is cheap and its numbers are exact.
func lawful(c cell.Cell) bool {
	return c.Engine == platform.Torch && c.Platform == platform.CPU && c.Size == cell.Tiny && c.DType == platform.FP32 && c.Mode == cell.Infer
}

// Kept is the file of a cell's outputs in a folder of kept ones.
func Kept(folder string, c cell.Cell) string { return filepath.Join(folder, c.Hash+".npz") }

// withFiles adds where the outputs of each attempt are to be kept.
func withFiles(options map[string]any, folder string, batch []*attempt) map[string]any {
	files := make([]string, len(batch))
	for i, a := range batch {
		files[i] = Kept(folder, a.now)
	}
	options = maps.Clone(options)
	if options == nil {
		options = map[string]any{}
	}
	options["keep"] = files
	return options
}

// preloads says whether imports before the fork are worth it: the repeats of
// a timed cell share them, and so do the exports of many models.
func (c *carrying) preloads(a *attempt, timed bool) bool {
	const many = 3
	return timed || a.now.Engine.Traits().Graphs && len(c.plan.Cells) >= many
}

// threads is what the cell says, else the device's setting: all of
// it for a timed job, which is alone, and a share for one of several workers.
// 0 leaves it to the engine: to one that is alone on a device of which nothing
// is known, and to a page, whose machine may be another.
func (c *carrying) threads(a *attempt, alone bool) int {
	if a.now.Threads > 0 {
		return a.now.Threads
	}
	if alone || a.now.Engine.Traits().Pages && a.here.Threads == 0 {
		return c.pinned(a.here.Threads, alone)
	}
	return max(1, a.here.Threads/max(1, c.Workers))
}

// pinned are the threads of a timed child: no more than it has processors.
func (c *carrying) pinned(threads int, alone bool) int {
	cpus, _ := cell.ParseCPUs(c.plan.Pin)
	if !alone || len(cpus) == 0 || threads > 0 && threads <= len(cpus) {
		return threads
	}
	return len(cpus)
}

// settle gives each attempt of the batch its result, or lowers its settings
// for another try. After a failure at one point the later ones stay open: they
// are tried again in a child of their own.
func (c *carrying) settle(batch []*attempt, out outcome) {
	for i, a := range batch {
		if p, ok := out.points[i]; ok {
			c.report(a, out, p)
			continue
		}
		if i > out.failedAt && !out.whole {
			continue
		}
		if c.adapt(a, out.failure) {
			continue
		}
		c.fail(a, *out.failure)
		a.result.PhasesMS = out.phases
		a.result.Note = joinNotes(a.result.Note, joinNotes(out.again, a.restricted(out.level)))
	}
}

// adapt changes the settings of an attempt that ran out of memory, or whose
// device does not compute in half precision, for another try.
func (c *carrying) adapt(a *attempt, f *cell.Failure) bool {
	if c.plan.NoAdapt {
		return false
	}
	switch f.Class {
	case cell.OutOfMemory:
		return c.shrink(a)
	case cell.UnsupportedDType:
		return c.widen(a, f)
	}
	return false
}

// shrink lowers what needs memory. An attempt that was widened does not go
// back to the half precision that failed.
func (c *carrying) shrink(a *attempt) bool {
	smaller, ok := lower(a.now, a.recipe.Seq, a.recipe.Image)
	if !ok || a.widened != "" && smaller.DType != a.now.DType {
		return false
	}
	c.note(a.now.Model() + " on " + a.now.Target + " ran out of memory: trying again with " + changed(a.now, smaller))
	a.now = smaller
	return true
}

// widen drops half precision that failed to fp32.
func (c *carrying) widen(a *attempt, f *cell.Failure) bool {
	wider, ok := wider(a.now)
	if ok {
		a.widened = fmt.Sprintf("in %s: %s: %s", a.now.DType, f.Class, f.Detail)
		c.note(a.now.Model() + " on " + a.now.Target + " fails in " + string(a.now.DType) + ": trying again with " + changed(a.now, wider))
		a.now = wider
	}
	return ok
}

// seconds sends attempts that failed for their platform's sake elsewhere.
func (c *carrying) seconds(ctx context.Context, done []*attempt) ([]*attempt, error) {
	var moved []route
	for _, a := range done {
		if r, ok := c.next(a); ok {
			link := c.link(r)
			if a.result.Fallback != nil { // this was a fallback itself
				link.From = a.result.Fallback.From
			}
			a.result.Fallback = link
			what := "is not tried on " + a.cell.Target
			if f := a.result.Failure; f != nil {
				what = fmt.Sprintf("fails on %s (%s)", a.cell.Target, f.Class)
			}
			c.note(fmt.Sprintf("%s %s: it runs on %s instead", a.cell.Model(), what, r.cell.Target))
			moved = append(moved, r)
		}
	}
	for _, g := range groups(moved) {
		more, err := c.check(ctx, g)
		if err != nil {
			return done, err
		}
		done = append(done, more...)
	}
	return done, nil
}
