package lab

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/platform"
)

// route is a cell of the plan on its way to where it runs.
type route struct {
	asked cell.Cell // as the plan has it
	cell  cell.Cell // as it runs: asked, or moved by a fallback
	here  Presence  // of cell's target
	// absent is why asked cannot run; "" when it can.
	absent string
	// derives is whether a verdict of asked follows from what is known about its
	// platform, though it cannot run.
	derives bool
	// unsuited is whether asked can run nowhere.
	unsuited bool
	// runs is false when there is nothing to run: absent and no fallback.
	runs bool
}

// routes lays every cell of the plan onto the machine.
func (c *carrying) routes() []route {
	out := make([]route, len(c.plan.Cells))
	for i, x := range c.plan.Cells {
		out[i] = c.route(x)
	}
	return out
}

func (c *carrying) route(asked cell.Cell) route {
	if err := asked.Pair(); err != nil {
		return route{asked: asked, cell: asked, absent: err.Error(), unsuited: true}
	}
	here := c.Machine.Presence(asked.Where())
	if here.Present {
		return route{asked: asked, cell: asked, here: here, runs: true}
	}
	r := route{asked: asked, cell: asked, absent: here.Reason, derives: here.Derives}
	if c.plan.Strict || c.plan.NoFallback || asked.Scenario == cell.Moving {
		return r // no other device stands for the one that a model goes to
	}
	if to, here, ok := c.fallback(asked, ""); ok {
		r.cell, r.here, r.runs = to, here, true
	}
	return r
}

// fallback moves a cell to the first platform of its fallback order that is
// here and does what the cell asks for, of those behind one that was tried.
func (c *carrying) fallback(asked cell.Cell, tried platform.Name) (cell.Cell, Presence, bool) {
	p, _ := platform.Get(asked.Platform)
	for _, name := range p.Fallback[slices.Index(p.Fallback, tried)+1:] {
		for _, t := range instead(asked, name) {
			moved := asked
			moved.DType = dtypeThere(asked, t)
			here, to := c.Machine.Presence(t), moved.On(t)
			if here.Present && t.HasDType(moved.DType) && here.computes(moved.DType) && to.Validate() == nil {
				return to, here, true
			}
		}
	}
	return cell.Cell{}, Presence{}, false
}

// dtypeThere is what a cell computes in on a target that it moves to: what was
// asked for; the target's own where nobody asked for just this one; and fp32
// in place of a half precision that the target does not have.
func dtypeThere(asked cell.Cell, t platform.Target) platform.DType {
	half := asked.DType == platform.FP16 || asked.DType == platform.BF16
	switch {
	case asked.DType == asked.Where().DType():
		return t.DType()
	case half && !t.HasDType(asked.DType):
		return platform.FP32
	}
	return asked.DType
}

// instead are the targets of a platform that may stand for an asked one, the
// best first. What was asked of a browser stays in a browser, its own if that
// is here; a graph goes to an engine that runs graphs.
func instead(asked cell.Cell, name platform.Name) []platform.Target {
	t := platform.Target{Platform: name}
	to, _ := platform.Get(name)
	is := asked.Engine.Traits()
	if to.HasEngine(is.Instead) {
		t.Engine = is.Instead
	}
	if is.Pages {
		own := t
		own.Browser = asked.Browser
		return slices.Compact([]platform.Target{own.Normal(), t.Normal()})
	}
	if asked.Type == cell.ONNX {
		t.Engine = to.GraphEngine()
	}
	return []platform.Target{t.Normal()}
}

// computes reports whether the device has the dtype, as far as that is known.
func (p Presence) computes(d platform.DType) bool {
	return p.DTypes == nil || slices.Contains(p.DTypes, d)
}

// unavailable is the asked target's own result when it is not there.
func (c *carrying) unavailable(r route) cell.Result {
	res := cell.Result{
		Cell: r.asked, Asked: r.asked.Hash, Verdict: cell.Unavailable, Evidence: cell.None, Note: r.absent, Timing: c.plan.Timing,
		Requested: cell.SettingsOf(r.asked), Context: c.Context, StartedAt: time.Now().UTC(),
	}
	if r.unsuited {
		f := failure.OfCell(cell.Unsuited, r.absent, r.asked)
		res.Failure = &f
	}
	if r.runs {
		res.Fallback = c.link(r)
		c.note(fmt.Sprintf("%s runs on %s instead of %s, which is not here", r.asked.Model(), r.cell.Target, r.asked.Target))
	}
	return res
}

// link says where a cell goes, why, and what that costs.
func (c *carrying) link(r route) *cell.Fallback {
	cost, why := c.expected(r)
	return &cell.Fallback{To: r.cell.Target, Reason: r.absent, Cost: cost, NoCost: why}
}

// elsewhere lists the failures for which another platform may do better.
var elsewhere = map[cell.FailureClass]bool{
	cell.UnsupportedOperator: true,
	cell.UnsupportedDType:    true,
	cell.OutOfMemory:         true,
	cell.Driver:              true,
	cell.Export:              true,
	cell.BeyondAssay:         true,
}

// next is the route after an attempt that failed on a platform that was there,
// or was not tried, if the plan allows one and another platform may do better:
// the next of the asked platform's fallback order, whether this was the asked
// one or a fallback.
func (c *carrying) next(a *attempt) (route, bool) {
	f, reason := a.result.Failure, a.untried
	if f != nil && elsewhere[f.Class] {
		reason = fmt.Sprintf("%s: %s", f.Class, f.Detail)
	}
	if c.plan.Strict || c.plan.NoFallback || a.asked.Scenario == cell.Moving || reason == "" {
		return route{}, false
	}
	to, here, ok := c.fallback(a.asked, a.cell.Platform)
	return route{asked: a.asked, cell: to, here: here, absent: reason, runs: ok}, ok
}
