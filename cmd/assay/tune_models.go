package main

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

// questioner makes questions about models: it runs or exports them and lays
// their graphs out, before anything is timed.
type questioner struct {
	app     *app
	session *session.Session
	planner *plan.Planner
	targets []platform.Target
	layout  tune.Layout
}

// makeQuestions makes those that are asked, about the named models or one that
// suits the question.
func (q questioner) makeQuestions(ctx context.Context, asked tune.Questions, models []string) ([]tune.Question, error) {
	var out []tune.Question
	for _, kind := range []struct {
		asked bool
		usual string
		make  func(context.Context, plan.Request) ([]tune.Question, error)
	}{{asked.Warm, tune.WarmModel, q.runWhole}, {asked.Load, tune.LoadModel, q.exportInParts}} {
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
func (q questioner) runWhole(ctx context.Context, r plan.Request) ([]tune.Question, error) {
	r.NoFallback = true
	for _, t := range q.targets {
		r.Targets = append(r.Targets, t.String())
	}
	made, err := q.planner.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	progress := report.NewProgress(q.app.stderr, q.app.terminal, q.app.environ())
	rep, err := q.app.carry(ctx, q.session, made, "tune", progress)
	progress.Close()
	if err != nil {
		return nil, err
	}
	var out []tune.Question
	for _, r := range rep.Results {
		w := tune.Question{What: tune.WarmStart, Model: r.Cell.Model(), Target: r.Cell.Where()}
		if r.Export == nil || r.Verdict != cell.Works && r.Verdict != cell.Partial {
			w.Refused = fmt.Sprintf("%s: %s there: %s", w.Model, r.Verdict, report.Why(r))
		} else if w.Graphs, err = q.layout.Whole(w.Model, r.Export.Prepared, r.Export.Key); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// exportInParts exports models in parts, and lays out those that can be loaded.
func (q questioner) exportInParts(ctx context.Context, r plan.Request) ([]tune.Question, error) {
	cells, err := q.planner.Models(ctx, r)
	if err != nil {
		return nil, err
	}
	var out []tune.Question
	for _, c := range cells {
		w := tune.Question{What: tune.ParallelLoad, Model: c.Model()}
		found, err := q.session.Parts(ctx, c.On(platform.Target{Platform: platform.CPU}), q.app.say)
		if err != nil {
			w.Refused = err.Error()
		} else if w.Graphs, err = q.layout.Parts(found.Key, goodParts(found)); err != nil {
			return nil, err
		}
		for _, t := range q.targets {
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
