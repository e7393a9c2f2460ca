package lab

import (
	"cmp"
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
		Cell: a.described(a.cell), Asked: a.asked.Hash, Content: a.recipe.Content, Timing: c.plan.Timing, Requested: a.settings(a.cell),
		Attempts: a.attempts, Context: c.Context, StartedAt: a.began, Parameters: a.recipe.Parameters,
	}
	if w := a.recipe.Weights; w != nil {
		r.Loaded = &cell.Loaded{Commit: w.Commit}
	}
	if a.absent != "" {
		r.Requested = a.settings(a.asked)
		r.Fallback = &cell.Fallback{From: a.asked.Target, Reason: a.absent}
	}
	return r
}

// described is a cell with what its recipe says about it. Its hash stays as it is:
// a head that nobody named is not another cell.
func (a *attempt) described(c cell.Cell) cell.Cell {
	c.Class, c.Task = a.recipe.Class, cmp.Or(a.recipe.Task, c.Task)
	return c
}

// settings are a cell's, the recipe's own sizes filled in, so that what was
// asked for and what ran can be compared.
func (a *attempt) settings(c cell.Cell) cell.Settings {
	s := cell.SettingsOf(c)
	s.Seq, s.Image = cmp.Or(s.Seq, a.recipe.Seq), cmp.Or(s.Image, a.recipe.Image)
	return s
}

// fail settles an attempt as failing. What never ran is known from the
// parameter count or not at all; what the machine broke is no evidence.
func (c *carrying) fail(a *attempt, f cell.Failure) {
	r := c.begin(a)
	r.Verdict, r.Evidence, r.Failure = cell.Fails, c.evidence(a), &f
	switch {
	case f.Class == cell.Unsuited:
		r.Verdict, r.Evidence, r.Note = cell.Unavailable, cell.None, unsuited(f)
	case f.Class == cell.BeyondAssay:
		r.Verdict, r.Evidence, r.Note = cell.Unavailable, cell.None, strings.TrimPrefix(f.Detail, "BeyondAssay: ")
	case !f.Class.OfModel():
		r.Verdict, r.Evidence = cell.Unknown, cell.None
	case failure.OfMachine(f.Class):
		r.Evidence = cell.None
	case a.attempts == 0 && f.Class == cell.OutOfMemory:
		r.Evidence = cell.Derived
	case a.attempts == 0:
		r.Evidence = cell.None
	}
	if a.attempts > 0 && r.Verdict != cell.Unavailable {
		actual := a.settings(a.now)
		r.Actual = &actual
	}
	a.result = &r
	c.price(a)
}

// leave settles an attempt that is not made, for a reason that is not a fault of
// its platform.
func (c *carrying) leave(a *attempt, why string) {
	r := c.begin(a)
	r.Verdict, r.Evidence, r.Note = cell.Unavailable, cell.None, why
	a.untried, a.result = why, &r
	c.price(a)
}

// unsuited is why a cell is not available, without the exception's name.
func unsuited(f cell.Failure) string { return strings.TrimPrefix(f.Detail, "Unsuited: ") }

func (c *carrying) evidence(a *attempt) cell.Evidence {
	if a.here.Software {
		return cell.Emulated
	}
	return cell.Measured
}

// report settles an attempt by what its child saw. The result is one of the
// cell as it ran: after adaptation that is a smaller one than was asked for.
func (c *carrying) report(a *attempt, out outcome, p pointRun) {
	r := c.begin(a)
	r.Cell = a.described(a.now)
	actual := a.settings(a.now)
	r.Actual = &actual
	r.Evidence = c.evidence(a)
	r.SubjectHash, r.Outputs, r.Numerics, r.Placement = p.SubjectHash, p.Outputs, p.Numerics, p.Placement
	r.Experts, r.Kernels, r.Export = p.Experts, p.Kernels, p.Export
	if t := p.Training; t != nil {
		r.Training = &t.Training
	}
	if q := p.Pipeline; q != nil {
		r.Pipeline = &q.Requests
	}
	r.Ranks = p.Ranks
	if m := p.Moves; m != nil {
		r.Moves = &m.Moves
	}
	if t := p.Generation; t != nil {
		r.Generation = generated(t)
		r.Generation.AgreedTokens, r.Generation.OnePass = t.AgreedTokens, t.OnePass
	}
	if p.Evidence != "" {
		r.Evidence = p.Evidence
	}
	r.Memory = c.alone(a, p.Memory)
	if p.Parameters > 0 {
		r.Parameters = p.Parameters
	}
	r.PhasesMS = phases(out.phases, p.phases)
	overhead := float64(out.overhead) / float64(time.Millisecond)
	r.OverheadMS = &overhead
	r.Context = describe(r.Context, p.Report)
	r.Verdict, r.Note, r.Failure = verdict(a.now, p.Report)
	r.Note = joinNotes(a.widened, r.Note)
	r.Fingerprint, r.Laws = p.Fingerprint, p.Laws
	if a.asKept() {
		r.Changed = a.recipe.Kept.Since(a.recipe.KeptOf, r.SubjectHash, p.Fingerprint)
	}
	for _, more := range []string{rescued(r), unjudged(p.Numerics), otherAnswers(r.Changed), untied(r.Moves), findings(r), out.again, a.restricted(out.level)} {
		r.Note = joinNotes(r.Note, more)
	}
	fitted(&r, p.Report)
	a.result = &r
	c.price(a)
}

// asKept says whether an attempt is of the sizes and weights that fingerprints
// are kept of: with others the model is the same, and its answers are not.
func (a *attempt) asKept() bool {
	c, r := a.now, a.recipe
	return c.Batch == 1 && (c.Seq == 0 || c.Seq == r.Seq) && (c.Image == 0 || c.Image == r.Image) && c.Seed == 0 && r.Weights == nil
}

// restricted is what the processor was kept from in a child at a level.
func (a *attempt) restricted(level string) string {
	if a.here.Restricted == nil {
		return ""
	}
	return a.here.Restricted(level)
}

// fitted says how given weights fitted the model. Missing ones make a result
// partial: part of what ran is not the checkpoint. Unused ones do not.
func fitted(r *cell.Result, p runner.Report) {
	if r.Loaded == nil {
		return
	}
	r.Loaded.Digest, r.Loaded.Missing, r.Loaded.Unused = p.WeightsDigest, p.WeightsMissing, p.WeightsUnused
	if n := len(p.WeightsMissing); n > 0 {
		r.Note = joinNotes(r.Note, fmt.Sprintf("%s not in the weights and drawn at random: %s", plural(n, "tensor"), some(p.WeightsMissing)))
		if r.Verdict == cell.Works {
			r.Verdict = cell.Partial
		}
	}
	if n := len(p.WeightsUnused); n > 0 {
		r.Note = joinNotes(r.Note, fmt.Sprintf("%s of the weights not used: %s", plural(n, "tensor"), some(p.WeightsUnused)))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// some names the first few; all of them stand in the result.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}

// alone leaves out what a device's counter says while siblings use it too.
func (c *carrying) alone(a *attempt, m *cell.Memory) *cell.Memory {
	if m == nil || c.Workers <= 1 || a.now.Platform == platform.CPU {
		return m
	}
	own := *m
	own.DeviceBaselineBytes, own.DevicePeakBytes = nil, nil
	return &own
}

// phases joins the job's phases with the point's own.
func phases(job, point map[string]float64) map[string]float64 {
	all := maps.Clone(job)
	if all == nil {
		all = map[string]float64{}
	}
	maps.Copy(all, point)
	return all
}

// verdict is decided by what was seen, in this order: output that is not
// finite, output that does not depend on anything, output that differs from
// the reference, nodes that ran elsewhere, a check that could not be made.
func verdict(c cell.Cell, p runner.Report) (cell.Verdict, string, *cell.Failure) {
	wrong := func(format string, args ...any) (cell.Verdict, string, *cell.Failure) {
		f := failure.OfCell(cell.WrongOutput, fmt.Sprintf(format, args...), c)
		return cell.Fails, "", &f
	}
	n := p.Numerics
	switch {
	case c.Engine == platform.Noop:
		return cell.Works, "", nil
	case mistrained(p) != "":
		return wrong("%s", mistrained(p))
	case p.Finite != nil && !*p.Finite:
		return wrong("the output holds NaN or infinity")
	case p.Constant != nil && *p.Constant:
		return wrong("the output is the same everywhere: it does not depend on its input")
	case n != nil && n.Quantised.Wrong():
		return wrong("the engine does not compute what was quantised: %s", apart(n.Quantised))
	case n != nil && !n.Pass && n.LeastSNRdB != nil:
		return wrong("the output's signal-to-noise ratio against %s is %s dB, less than %.0f%s", n.Reference, decibel(n.SNRdB), *n.LeastSNRdB, onSample(n))
	case n != nil && !n.Pass && n.Rows.Wrong() && n.MaxRel != nil && *n.MaxRel <= n.Tolerance:
		return wrong("a row of the output differs from %s by %s of its length, more than %.2g%s", n.Reference, number(n.Rows.MaxRel), n.Rows.Tolerance, onSample(n))
	case n != nil && !n.Pass:
		return wrong("the output differs from %s by %s of its largest value, more than %.2g%s", n.Reference, number(n.MaxRel), n.Tolerance, onSample(n))
	case n != nil && len(around(n, false)) > 0 && c.Mode == cell.Pipeline:
		return wrong("around the model something is not as its rule says: %s", strings.Join(around(n, false), "; "))
	case n != nil && len(around(n, false)) > 0:
		return wrong("the library does something different around the model from what transformers does: %s", strings.Join(around(n, false), "; "))
	case changedByMoves(p) != "":
		return wrong("%s", changedByMoves(p))
	case keptByMoves(p) != "":
		f := failure.OfCell(cell.ModelError, keptByMoves(p), c)
		return cell.Fails, "", &f
	case strayed(c, p.Placement) != "":
		return misplaced(c, p.Placement)
	case p.Placement != nil && c.Engine == platform.ORTWeb && p.Placement.Nodes[string(c.Platform)] == 0:
		f := failure.OfCell(cell.UnsupportedOperator, fmt.Sprintf("no node ran on %s: %s", c.Platform, leftOver(p.Placement)), c)
		return cell.Fails, "", &f
	case p.Placement != nil && len(p.Placement.LeftOver) > 0:
		return cell.Partial, leftOver(p.Placement), nil
	case p.Placement == nil && c.Engine == platform.ORTWeb:
		return cell.Partial, "where its nodes ran is unknown: ONNX Runtime's log names no provider", nil
	case p.Evidence == cell.Compiled:
		return cell.Works, "converted, not run: this machine cannot run it", nil
	}
	if why := unproven(c, p); why != "" {
		return cell.Partial, why, nil
	}
	return cell.Works, "", nil
}

// unproven says why a result that nothing is wrong with is not whole: what could not be
// judged, or holds only in part.
func unproven(c cell.Cell, p runner.Report) string {
	n := p.Numerics
	switch {
	case n == nil:
		return "not checked against a reference: " + orElse(p.NumericsNote, "none was computed")
	case n.Precision != "":
		return fmt.Sprintf("it does not compute in %s: its error of %s is as large as that of %s", c.DType, number(n.MaxRel), n.Precision)
	case unjudgedMoves(p) != "":
		return unjudgedMoves(p)
	case unjudgedMode(p) != "":
		return unjudgedMode(p)
	case len(around(n, true)) > 0:
		return "not compared: " + strings.Join(around(n, true), "; ")
	case narrowed(p.Export) != "":
		return narrowed(p.Export)
	case n.Control != nil && !n.Control.Pass && c.Size == cell.Tiny:
		return "the check is weak here: " + weak(*n.Control)
	}
	return ""
}

// narrowed says what a graph does not take that its model does, if anything.
func narrowed(e *cell.Exported) string {
	if e == nil {
		return ""
	}
	for _, s := range []struct{ step, says string }{
		{cell.ConstantInputs, "the graph does not take every input of the model: "},
		{cell.FixedChoices, "the graph is valid only for inputs that lead to the same choices: "},
		{cell.FixedAxes, "shapes are not dynamic as requested: "},
	} {
		if found := e.Step(s.step); found != nil {
			return s.says + found.Why
		}
	}
	return ""
}

// leftOver says which operations ran elsewhere, the most frequent first.
func leftOver(p *cell.Placement) string {
	total := 0
	var names []string
	for _, l := range p.LeftOver {
		total += l.Count
		names = append(names, fmt.Sprintf("%s ×%d", l.Operator, l.Count))
	}
	return fmt.Sprintf("%s ran on %s: %s", plural(total, "operation"), p.LeftOver[0].Where, some(names))
}

// strayed names where work was seen that is not the cell's device.
func strayed(c cell.Cell, p *cell.Placement) string {
	if p == nil || c.TorchDevice() == "" {
		return ""
	}
	var out []string
	for _, device := range strings.Split(p.Device, ",") {
		if device != "" && !c.Holds(device) {
			out = append(out, "parameters or outputs on "+device)
		}
	}
	for _, device := range p.Strayed(c) {
		out = append(out, fmt.Sprintf("%s on %s", plural(p.Nodes[device], "operation"), device))
	}
	return strings.Join(out, ", ")
}

// misplaced is partial when some work ran on the cell's device, and a failure
// when none did.
func misplaced(c cell.Cell, p *cell.Placement) (cell.Verdict, string, *cell.Failure) {
	own := c.TorchDevice()
	for device, n := range p.Nodes {
		if strings.HasPrefix(device, own) && n > 0 {
			return cell.Partial, strayed(c, p), nil
		}
	}
	f := failure.Of(cell.Driver, "nothing ran on "+c.Target+": "+strayed(c, p))
	return cell.Fails, "", &f
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
	c.Versions, c.Variables = nil, nil // they are shared by all results, and decoding would write into them
	c.Browser = nil
	if len(p.Context) > 0 {
		// A context that cannot be parsed costs only itself.
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
