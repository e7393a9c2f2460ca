package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/platform"
	"assay/internal/runner"
)

// Derivation is a runner's answer to a derive job; docs/protocol.md, "Derived
// verdicts", has the fields.
type Derivation struct {
	Torch     string             `json:"torch"`
	Method    string             `json:"method"`
	DType     string             `json:"dtype"` // of the census, as torch calls it
	Calls     int                `json:"calls"`
	Operators int                `json:"operators"`
	Targets   map[string]Derived `json:"targets"` // by platform
}

// torchDTypes are how torch calls dtypes.
var torchDTypes = map[platform.DType]string{platform.FP32: "float32", platform.FP16: "float16", platform.BF16: "bfloat16"}

// Derived is what follows for one platform. Without a verdict, Why says why
// there is none.
type Derived struct {
	Verdict   cell.Verdict      `json:"verdict"`
	Class     cell.FailureClass `json:"class"`
	Operators []struct {
		Operator string `json:"operator"`
		Why      string `json:"why"`
		Count    int    `json:"count"`
	} `json:"operators"`
	Why string `json:"why"`
}

// derives reports whether a route's own result is to be derived: the target is
// not here, what it can do is known anyway, and nobody asked for the
// hardware itself (strict) or for times.
func (c *carrying) derives(r route) bool {
	return r.absent != "" && r.derives && !c.plan.Strict && c.plan.Timing == cell.Functional
}

// deriveAll finishes the asked cells whose verdict is derived. One trace of a
// model serves all its platforms.
func (c *carrying) deriveAll(ctx context.Context, routes []route) error {
	var open []route
	for _, r := range routes {
		if c.derives(r) {
			open = append(open, r)
		}
	}
	return c.each(ctx, byModel(open), c.derive)
}

// byModel gathers routes whose cells are alike except for their target.
func byModel(routes []route) []group {
	at := map[cell.Key]int{}
	var out []group
	for _, r := range routes {
		key := r.asked.Key(cell.AnyPlatform)
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, group{})
		}
		out[i].routes = append(out[i].routes, r)
	}
	return out
}

// derive asks the runner once and finishes the group's results. What cannot be
// derived stays unavailable, and says why.
func (c *carrying) derive(ctx context.Context, g group) error {
	asked := g.routes[0].asked
	recipe, err := c.Recipes.Recipe(ctx, asked)
	var d Derivation
	if err == nil {
		d, err = c.derivation(ctx, asked, recipe, platforms(g))
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if gone := (*runner.GaveUpError)(nil); errors.As(err, &gone) {
		return err
	}
	for _, r := range g.routes {
		res := c.unavailable(r)
		a := attempt{route: r, recipe: recipe}
		res.Cell, res.Parameters = a.described(r.asked), recipe.Parameters
		found := d.Targets[string(r.asked.Platform)]
		if err != nil {
			found.Why = err.Error()
		}
		d.settle(&res, found)
		c.finish(res)
	}
	return nil
}

func platforms(g group) []string {
	var out []string
	for _, r := range g.routes {
		out = append(out, string(r.asked.Platform))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// derivation runs the job. It needs no device and, as it traces without
// memory, little of the host's.
func (c *carrying) derivation(ctx context.Context, asked cell.Cell, recipe Recipe, platforms []string) (d Derivation, err error) {
	release, err := c.admit(ctx, need{silicon: "cpu", hostBytes: childBytes})
	if err != nil {
		return d, err
	}
	defer release()
	job := runner.Job{
		Kind: runner.DeriveJob, Cell: asked, Recipe: recipe.JSON, Threads: 1,
		Points:  []runner.Point{{Batch: asked.Batch, Seq: asked.Seq, Image: asked.Image}},
		Options: map[string]any{"platforms": platforms, "tables": c.Tables},
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit(job))
	defer cancel()
	var answer json.RawMessage
	var raised *runner.Failure
	exit, err := c.Runner.Run(ctx, job, func(e runner.Event) {
		switch e := e.(type) {
		case runner.Again:
			answer, raised = nil, nil
		case runner.Data:
			answer = e.Data
		case runner.Failure:
			raised = &e
		}
	})
	switch {
	case err != nil:
		return d, err
	case raised != nil:
		return d, fmt.Errorf("%s: %s", raised.Type, raised.Message)
	case answer == nil:
		return d, fmt.Errorf("the child %s", exit)
	}
	return d, json.Unmarshal(answer, &d)
}

// settle makes an unavailable result the derived one, if there is a verdict.
func (d Derivation) settle(r *cell.Result, found Derived) {
	absent := r.Note
	if !slices.Contains([]cell.Verdict{cell.Works, cell.Partial, cell.Fails}, found.Verdict) {
		r.Note = joinNotes(absent, "no verdict could be derived: "+orElse(found.Why, "the runner gave none"))
		return
	}
	r.Verdict, r.Evidence = found.Verdict, cell.Derived
	r.Note = d.basis(r.Cell) + "; not run: " + absent
	if found.Verdict == cell.Works {
		return
	}
	where := ""
	if found.Verdict == cell.Partial {
		where = "cpu"
	}
	r.Placement = &cell.Placement{}
	for _, o := range found.Operators {
		r.Placement.LeftOver = append(r.Placement.LeftOver, cell.LeftOver{Operator: o.Operator, Count: o.Count, Where: where, Why: o.Why})
	}
	what := orElse(found.named(), found.Why)
	if found.Verdict == cell.Partial {
		r.Note = what + " would run on the CPU; " + r.Note
		return
	}
	f := failure.Of(found.Class, what)
	r.Failure = &f
}

// basis says what the verdict rests on.
func (d Derivation) basis(c cell.Cell) string {
	if d.Calls == 0 {
		return "derived: its forward, traced in " + d.DType + " by torch " + d.Torch + ", fails on every device"
	}
	text := fmt.Sprintf("derived: %d calls of %d operators against the kernels that torch %s has for %s", d.Calls, d.Operators, d.Torch, c.Platform)
	if d.DType != torchDTypes[c.DType] {
		text += "; their dtypes are those of " + d.DType
	}
	return text
}

// named lists the operators with their counts and the first one's reason; the
// result's placement has all of them.
func (d Derived) named() string {
	var names []string
	for _, o := range d.Operators {
		names = append(names, fmt.Sprintf("%s ×%d", o.Operator, o.Count))
	}
	if len(names) == 0 {
		return ""
	}
	return some(names) + ": " + d.Operators[0].Why
}
