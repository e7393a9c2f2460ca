package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/platform"
	"assay/internal/runner"
)

// begin is the part of a result that is known before anything ran.
func (c *carrying) begin(a *attempt) cell.Result {
	r := cell.Result{
		Cell: a.cell, Timing: c.plan.Timing, Requested: cell.SettingsOf(a.cell),
		Attempts: a.attempts, Context: c.Context, StartedAt: a.began, Parameters: a.recipe.Parameters,
	}
	if a.absent != "" {
		r.Requested = cell.SettingsOf(a.asked)
		r.Fallback = &cell.Fallback{From: a.asked.Target, Reason: a.absent}
	}
	return r
}

// fail settles an attempt as failing.
func (c *carrying) fail(a *attempt, f cell.Failure) {
	r := c.begin(a)
	r.Verdict, r.Evidence, r.Failure = cell.Fails, c.evidence(a), &f
	if a.attempts > 0 {
		actual := cell.SettingsOf(a.now)
		r.Actual = &actual
	} else {
		r.Evidence = cell.Derived // known without running: from the parameter count or the recipe
	}
	a.result = &r
}

func (c *carrying) evidence(a *attempt) cell.Evidence {
	if a.here.Software {
		return cell.Emulated
	}
	return cell.Measured
}

// report settles an attempt by what its child saw.
func (c *carrying) report(a *attempt, out outcome, p runner.Report) {
	r := c.begin(a)
	actual := cell.SettingsOf(a.now)
	r.Actual = &actual
	r.Evidence = c.evidence(a)
	r.SubjectHash, r.Outputs, r.Numerics, r.Placement, r.Memory = p.SubjectHash, p.Outputs, p.Numerics, p.Placement, p.Memory
	if p.Parameters > 0 {
		r.Parameters = p.Parameters
	}
	r.PhasesMS = phases(out.phases, p.PhasesMS)
	overhead := float64(out.overhead) / float64(time.Millisecond)
	r.OverheadMS = &overhead
	r.Context = describe(r.Context, p)
	r.Verdict, r.Note, r.Failure = verdict(a.now, p)
	a.result = &r
}

// phases joins the job's phases with the point's own.
func phases(job, point map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for _, m := range []map[string]float64{job, point} {
		for name, ms := range m {
			all[name] = ms
		}
	}
	return all
}

// verdict is decided by what was seen, in this order: output that is not
// finite, output that does not depend on anything, output that differs from
// the reference, nodes that ran elsewhere, a check that could not be made.
func verdict(c cell.Cell, p runner.Report) (cell.Verdict, string, *cell.Failure) {
	wrong := func(format string, args ...any) (cell.Verdict, string, *cell.Failure) {
		f := failure.Of(cell.WrongOutput, fmt.Sprintf(format, args...))
		return cell.Fails, "", &f
	}
	n := p.Numerics
	switch {
	case c.Engine == platform.Noop:
		return cell.Works, "", nil
	case p.Finite != nil && !*p.Finite:
		return wrong("the output holds NaN or infinity")
	case p.Constant != nil && *p.Constant:
		return wrong("the output is the same everywhere: it does not depend on its input")
	case n != nil && !n.Pass:
		return wrong("the output differs from %s by %s of its largest value, more than %.2g", n.Reference, number(n.MaxRel), n.Tolerance)
	case p.Placement != nil && len(p.Placement.Left) > 0:
		return cell.Partial, "left to another device: " + strings.Join(p.Placement.Left, ", "), nil
	case n == nil:
		return cell.Partial, "not checked against a reference: " + orElse(p.NumericsNote, "none was computed"), nil
	case n.Control != nil && !n.Control.Pass && c.Size == cell.Tiny:
		return cell.Partial, fmt.Sprintf("the check is weak here: %s changes the output by only %s", n.Control.Kind, number(n.Control.Change)), nil
	}
	return cell.Works, "", nil
}

// number writes a share; nil came of NaN or infinity.
func number(x *float64) string {
	if x == nil {
		return "NaN"
	}
	return fmt.Sprintf("%.2g", *x)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// changed names the settings that differ, old → new.
func changed(from, to cell.Cell) string {
	var out []string
	add := func(name string, a, b any) {
		if a != b {
			out = append(out, fmt.Sprintf("%s %v → %v", name, a, b))
		}
	}
	add("batch", from.Batch, to.Batch)
	add("seq", from.Seq, to.Seq)
	add("image", from.Image, to.Image)
	add("dtype", from.DType, to.DType)
	return strings.Join(out, ", ")
}

// describe adds what the engine saw of the machine's state to the context.
func describe(c cell.Context, p runner.Report) cell.Context {
	versions := maps.Clone(c.Versions)
	c.Versions = nil // it is shared by all results, and decoding would write into it
	if len(p.Context) > 0 {
		// A context that does not read costs only itself.
		_ = json.Unmarshal(p.Context, &c)
	}
	if versions == nil {
		versions = map[string]string{}
	}
	maps.Copy(versions, c.Versions)
	c.Versions = versions
	c.Threads, c.AttnImpl, c.InputsInside = p.Threads, p.AttnImpl, p.InputsInside
	return c
}
