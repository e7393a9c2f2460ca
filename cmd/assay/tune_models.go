package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/exports"
	"assay/internal/plan"
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

// readying lays models' graphs out for pages, before anything is timed.
type readying struct {
	app     *app
	session *session.Session
	catalog *catalog.Catalog
	targets []platform.Target
	folder  string // where graphs are laid out
}

// ready lays out what the questions need. The named models are asked about, or
// one that suits the question.
func (r readying) ready(ctx context.Context, f *tuneFlags, models []string) ([]modelWork, error) {
	var out []modelWork
	for _, question := range []struct {
		asked bool
		other string
		ready func(context.Context, []string) ([]modelWork, error)
	}{{f.warm, warmModel, r.whole}, {f.load, loadModel, r.inParts}} {
		if !question.asked {
			continue
		}
		named := models
		if len(named) == 0 {
			named = []string{question.other}
		}
		work, err := question.ready(ctx, named)
		if err != nil {
			return nil, err
		}
		out = append(out, work...)
	}
	return out, nil
}

func (r readying) planner() *plan.Planner {
	return r.app.planner(&hubFlags{}, r.catalog, r.session)
}

// whole tests models on the targets, and lays out the graphs that ran there.
func (r readying) whole(ctx context.Context, models []string) ([]modelWork, error) {
	asked := plan.Request{How: plan.How{NoFallback: true}}
	asked.Models = plan.Names(models)
	for _, t := range r.targets {
		asked.Targets = append(asked.Targets, t.String())
	}
	made, err := r.planner().Plan(ctx, asked)
	if err != nil {
		return nil, err
	}
	progress := report.NewProgress(r.app.stderr, r.app.terminal, r.app.environ())
	rep, err := r.app.carry(ctx, r.session, made, "tune", progress)
	progress.Close()
	if err != nil {
		return nil, err
	}
	var out []modelWork
	for _, result := range rep.Results {
		w := modelWork{what: tune.WarmStart, model: result.Cell.Model(), target: result.Cell.Where()}
		if result.Export == nil || result.Verdict != cell.Works && result.Verdict != cell.Partial {
			w.refused = fmt.Sprintf("%s: %s there: %s", w.model, result.Verdict, report.Why(result))
		} else if w.graphs, err = r.ran(result); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// ran lays out the graph that a result is of: what was made of the exported
// one for browsers, or that itself where nothing had to be.
func (r readying) ran(result cell.Result) ([]tune.Graph, error) {
	cache, err := r.app.exports()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{result.Export.Prepared, result.Export.Key} {
		files, err := laidOut(cache, key, filepath.Join(r.folder, key))
		if err != nil {
			return nil, err
		}
		if _, ok := files[exports.GraphName]; ok {
			return []tune.Graph{{Name: result.Cell.Model(), File: exports.GraphName, Files: files}}, nil
		}
	}
	return nil, fmt.Errorf("the cache of exported models has no graph of %s any more: try again", result.Cell.Model())
}

// inParts exports models in parts, and lays out those that can be loaded.
func (r readying) inParts(ctx context.Context, models []string) ([]modelWork, error) {
	cache, err := r.app.exports()
	if err != nil {
		return nil, err
	}
	cells, err := r.planner().Models(ctx, plan.Request{Selector: catalog.Selector{Models: plan.Names(models)}})
	if err != nil {
		return nil, err
	}
	var out []modelWork
	for _, c := range cells {
		w := modelWork{what: tune.ParallelLoad, model: c.Model()}
		found, err := r.session.Parts(ctx, c.On(platform.Target{Platform: platform.CPU}), r.app.say)
		if err != nil {
			w.refused = err.Error()
		} else if w.graphs, err = partGraphs(cache, found, filepath.Join(r.folder, found.Key)); err != nil {
			return nil, err
		}
		for _, t := range r.targets {
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
