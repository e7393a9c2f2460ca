// Package questions makes the questions about models that package tune asks of
// browsers: it has the models run or exported and lays their graphs out, before
// anything is timed. What cannot be asked about is a question that says why.
package questions

import (
	"context"
	"fmt"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/report"
	"assay/internal/session"
	"assay/internal/tune"
)

// Maker makes questions for some targets.
type Maker struct {
	Planner *plan.Planner
	// Run runs a plan, and Parts exports a model in parts.
	Run     func(context.Context, cell.Plan) ([]cell.Result, error)
	Parts   func(context.Context, cell.Cell) (session.Parts, error)
	Targets []platform.Target
	Layout  tune.Layout
}

// Make makes those that are asked, about the named models or one that suits the
// question.
func (m Maker) Make(ctx context.Context, asked tune.Questions, models []string) ([]tune.Question, error) {
	var out []tune.Question
	for _, kind := range []struct {
		asked bool
		usual string
		make  func(context.Context, plan.Request) ([]tune.Question, error)
	}{{asked.Warm, tune.WarmModel, m.runWhole}, {asked.Load, tune.LoadModel, m.exportInParts}} {
		if !kind.asked {
			continue
		}
		named := plan.Names(models)
		if len(named) == 0 {
			named = []string{kind.usual}
		}
		made, err := kind.make(ctx, plan.Request{Selector: catalog.Selector{Models: named}})
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	return out, nil
}

// runWhole tests models on the targets, and lays out the graphs that ran there.
func (m Maker) runWhole(ctx context.Context, r plan.Request) ([]tune.Question, error) {
	r.NoFallback = true
	for _, t := range m.Targets {
		r.Targets = append(r.Targets, t.String())
	}
	made, err := m.Planner.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	results, err := m.Run(ctx, made)
	if err != nil {
		return nil, err
	}
	var out []tune.Question
	for _, r := range results {
		w := tune.Question{What: tune.WarmStart, Model: r.Cell.Model(), Target: r.Cell.Where()}
		if r.Export == nil || r.Verdict != cell.Works && r.Verdict != cell.Partial {
			w.Refused = fmt.Sprintf("%s: %s there: %s", w.Model, r.Verdict, report.Why(r))
		} else if w.Graphs, err = m.Layout.Whole(w.Model, r.Export.Prepared, r.Export.Key); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// exportInParts exports models in parts, and lays out those that can be loaded.
func (m Maker) exportInParts(ctx context.Context, r plan.Request) ([]tune.Question, error) {
	cells, err := m.Planner.Models(ctx, r)
	if err != nil {
		return nil, err
	}
	var out []tune.Question
	for _, c := range cells {
		w := tune.Question{What: tune.ParallelLoad, Model: c.Model()}
		found, err := m.Parts(ctx, c.On(platform.Target{Platform: platform.CPU}))
		if err != nil {
			w.Refused = err.Error()
		} else if w.Graphs, err = m.Layout.Parts(found.Key, goodParts(found)); err != nil {
			return nil, err
		}
		for _, t := range m.Targets {
			w.Target = t
			out = append(out, w)
		}
	}
	return out, nil
}

func goodParts(found session.Parts) []tune.Part {
	var out []tune.Part
	for _, p := range found.Parts {
		if p.Good() {
			out = append(out, tune.Part{Name: p.Name, File: p.File})
		}
	}
	return out
}
