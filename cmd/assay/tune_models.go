package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/exports"
	"assay/internal/platform"
	"assay/internal/report"
	"assay/internal/session"
	"assay/internal/tune"
)

// modelWork is a question about a model on a target, with its graphs at hand.
type modelWork struct {
	what, model string
	target      platform.Target
	graphs      []tune.Graph
	refused     string // why there are none
}

// ask asks the question.
func (w modelWork) ask(ctx context.Context, b *tune.Bench) tune.Row {
	switch {
	case w.refused != "":
		return tune.Row{What: w.what, Subject: w.model, Target: w.target.String(), Refused: w.refused, Notes: []string{}, Warnings: []string{}}
	case w.what == tune.WarmStart:
		return b.WarmStart(ctx, w.target, w.graphs[0])
	}
	return b.ParallelLoad(ctx, w.target, w.model, w.graphs)
}

// readyModels tests the models that are asked about, and lays their graphs out
// for pages. It is done before anything is timed.
func (a *app) readyModels(ctx context.Context, f *tuneFlags, s *session.Session, cat *catalog.Catalog, targets []platform.Target, models []string) (work []modelWork, clear func(), err error) {
	folder, err := os.MkdirTemp("", "assay-tune-")
	if err != nil {
		return nil, nil, err
	}
	clear = func() { _ = os.RemoveAll(folder) }
	defer func() {
		if err != nil {
			clear()
		}
	}()
	if f.warm {
		if work, err = a.whole(ctx, s, cat, targets, orModel(models, warmModel), folder); err != nil {
			return nil, nil, err
		}
	}
	if f.load {
		parts, err := a.inParts(ctx, s, cat, targets, orModel(models, loadModel), folder)
		if err != nil {
			return nil, nil, err
		}
		work = append(work, parts...)
	}
	return work, clear, nil
}

func orModel(models []string, other string) []string {
	if len(models) == 0 {
		return []string{other}
	}
	return models
}

// whole tests models on targets, and lays out the graphs that ran there.
func (a *app) whole(ctx context.Context, s *session.Session, cat *catalog.Catalog, targets []platform.Target, models []string, folder string) ([]modelWork, error) {
	carry := &carryFlags{batches: []int{1}}
	for _, t := range targets {
		carry.platforms = append(carry.platforms, t.String())
	}
	plan, err := a.plan(ctx, carry, models, cat, s)
	if err != nil {
		return nil, err
	}
	plan.NoFallback = true
	progress := report.NewProgress(a.stderr, a.terminal, a.environ())
	rep, err := a.carry(ctx, s, plan, "tune", progress)
	progress.Close()
	if err != nil {
		return nil, err
	}
	var out []modelWork
	for _, r := range rep.Results {
		w := modelWork{what: tune.WarmStart, model: r.Cell.Model(), target: r.Cell.Where()}
		if r.Export == nil || r.Verdict != cell.Works && r.Verdict != cell.Partial {
			w.refused = fmt.Sprintf("%s %s there: %s", w.model, r.Verdict, report.Why(r))
		} else if w.graphs, err = a.ran(r, filepath.Join(folder, "whole", r.Cell.Hash)); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// graphFile is the name of a graph in the cache of exported models.
const graphFile = "model.onnx"

// ran lays out the graph that a result is of: what was made of the exported
// one for browsers, or that itself where nothing had to be.
func (a *app) ran(r cell.Result, folder string) ([]tune.Graph, error) {
	cache, err := a.exports()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{r.Export.Prepared, r.Export.Key} {
		files, err := laidOut(cache, key, folder)
		if err != nil {
			return nil, err
		}
		if _, ok := files[graphFile]; ok {
			return []tune.Graph{{Name: r.Cell.Model(), File: graphFile, Files: files}}, nil
		}
	}
	return nil, fmt.Errorf("the cache of exported models has no graph of %s any more: try again", r.Cell.Model())
}

// inParts exports models in parts, and lays out those that can be loaded.
func (a *app) inParts(ctx context.Context, s *session.Session, cat *catalog.Catalog, targets []platform.Target, models []string, folder string) ([]modelWork, error) {
	cache, err := a.exports()
	if err != nil {
		return nil, err
	}
	cells, err := a.models(ctx, &carryFlags{}, models, cat)
	if err != nil {
		return nil, err
	}
	var out []modelWork
	for _, c := range cells {
		w := modelWork{what: tune.ParallelLoad, model: c.Model()}
		found, err := s.Parts(ctx, c.On(platform.Target{Platform: platform.CPU}), a.say)
		if err != nil {
			w.refused = err.Error()
		} else if w.graphs, err = partGraphs(cache, found, filepath.Join(folder, "parts", found.Key)); err != nil {
			return nil, err
		}
		for _, t := range targets {
			w.target = t
			out = append(out, w)
		}
	}
	return out, nil
}

func partGraphs(cache exports.Cache, found session.Parts, folder string) ([]tune.Graph, error) {
	files, err := laidOut(cache, found.Key, folder)
	if err != nil {
		return nil, err
	}
	var out []tune.Graph
	for _, p := range found.Parts {
		if !p.Good() {
			continue
		}
		g := tune.Graph{Name: p.Name, File: p.File, Files: map[string]string{}}
		for name, path := range files {
			if name == p.File || strings.HasPrefix(name, p.File+".") {
				g.Files[name] = path
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// laidOut copies an entry of the cache, whose graphs pages then load, and
// gives its graphs and weights: name → path.
func laidOut(cache exports.Cache, key, folder string) (map[string]string, error) {
	names, err := cache.Copy(key, folder)
	files := map[string]string{}
	for _, name := range names {
		if slices.Contains([]string{".onnx", ".data"}, filepath.Ext(name)) {
			files[name] = filepath.Join(folder, name)
		}
	}
	return files, err
}
