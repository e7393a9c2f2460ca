package weblab

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/cell"
	"assay/internal/session"
)

// errStopped ends a run that its user stopped.
var errStopped = errors.New("stopped: what was finished is kept")

// run begins what the guest chose; one run at a time.
func (g *guest) run(s said) {
	plan, err := g.plan(s)
	var ctx context.Context
	if err == nil {
		ctx, err = g.begin()
	}
	if err != nil {
		_ = g.say(refusal{"refused", err.Error()}) // a page that is gone is noticed by hear
		return
	}
	g.lab.work.Go(func() { g.record(ctx, plan) })
}

func (g *guest) begin() (context.Context, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		return nil, errors.New("a run is under way: stop it first")
	}
	var ctx context.Context
	ctx, g.cancel = context.WithCancelCause(g.lab.context)
	return ctx, nil
}

// record carries the plan out and tells the page how it ended.
func (g *guest) record(ctx context.Context, plan cell.Plan) {
	kind, _ := g.about.browser()
	err := g.lab.o.Record(ctx, plan, session.Guest{Report: g.report, Told: g.about, Browser: kind, Browsers: g}, watcher{g})
	cause := context.Cause(ctx)
	g.mu.Lock()
	g.cancel(nil)
	g.cancel = nil
	g.mu.Unlock()
	end := done{Kind: "done", Stopped: cause != nil}
	switch {
	case cause != nil:
		end.Error = cause.Error()
	case err != nil:
		end.Error = err.Error()
		g.lab.o.Say("a guest's run failed: " + err.Error())
	}
	_ = g.say(end)
}

// stop ends the run under way, if there is one.
func (g *guest) stop(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(why)
	}
}

// watcher tells a guest's page of its run. What the page misses because it is
// gone is in the journal.
type watcher struct{ guest *guest }

// Planned tells how many cells there are.
func (w watcher) Planned(cells int) { _ = w.guest.say(planned{"planned", cells}) }

// Started tells which cell is being carried out.
func (w watcher) Started(c cell.Cell) { _ = w.guest.say(started{"started", c.Model(), c.Target}) }

// Finished tells a result, here too.
func (w watcher) Finished(r cell.Result) {
	w.guest.lab.o.Say(fmt.Sprintf("%s on %s: %s (%s)", r.Cell.Model(), r.Cell.Target, r.Verdict, describe(w.guest.report.Host)))
	_ = w.guest.say(rowOf(r))
}

// Note tells a sentence.
func (w watcher) Note(text string) { _ = w.guest.say(note{"note", text}) }
