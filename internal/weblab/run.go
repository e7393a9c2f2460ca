package weblab

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/cell"
	"assay/internal/progress"
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
	switch {
	case g.lost != nil:
		return nil, g.lost
	case g.cancel != nil:
		return nil, errors.New("a run is in progress: stop it first")
	}
	var ctx context.Context
	ctx, g.cancel = context.WithCancelCause(g.lab.context)
	return ctx, nil
}

// record runs the plan and tells the page how it ended.
func (g *guest) record(ctx context.Context, plan cell.Plan) {
	kind, _ := g.about.browser()
	g.end(ctx, g.lab.o.Record(ctx, plan, session.Guest{Report: g.report, Told: g.about, Browser: kind, Browsers: g}, telling{g}))
}

// end tells the page how a run ended.
func (g *guest) end(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	g.mu.Lock()
	g.cancel(nil)
	g.cancel = nil
	g.mu.Unlock()
	how := done{Kind: "done", Stopped: cause != nil}
	switch {
	case cause != nil:
		how.Error = cause.Error()
	case err != nil:
		how.Error = err.Error()
		g.lab.o.Say("a guest's run failed: " + err.Error())
	}
	_ = g.say(how)
}

// stop ends the run under way, if there is one.
func (g *guest) stop(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(why)
	}
}

// telling tells a guest's page of its run, and of results here too. What the
// page misses because it is gone is in the journal.
type telling struct{ guest *guest }

// Hear says the event in the page's words.
func (t telling) Hear(e progress.Event) error {
	if r := e.Result; r != nil {
		t.guest.lab.o.Say(fmt.Sprintf("%s on %s: %s (%s)", r.Cell.Model(), r.Cell.Target, r.Shown().Word(), describe(t.guest.report.Host)))
	}
	if m := messageOf(e); m != nil {
		_ = t.guest.say(m)
	}
	return nil
}
