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
	"assay/internal/detect"
	"assay/internal/hub"
	"assay/internal/platform"
	"assay/internal/session"
)

// plan turns the command line into a plan: models × targets × dtypes × sizes.
func (a *app) plan(ctx context.Context, f *carryFlags, args []string, cat *catalog.Catalog, s *session.Session) (cell.Plan, error) {
	if f.plan != "" {
		if !f.none(args) {
			return cell.Plan{}, usage("--plan names the cells already: models and selectors do not go with it")
		}
		p, err := a.readPlan(ctx, f.plan)
		if err != nil {
			return p, err
		}
		p.Strict, p.NoAdapt = p.Strict || f.strict, p.NoAdapt || f.noAdapt
		if f.repeats > 0 {
			p.Repeats = f.repeats
		}
		if f.timeout > 0 {
			p.TimeoutS = f.timeout.Seconds()
		}
		if err := session.Describe(cat, p.Cells); err != nil {
			return p, usage("%s: %w", f.plan, err)
		}
		return p.Normal()
	}
	models, err := a.models(ctx, f, args, cat)
	if err != nil {
		return cell.Plan{}, err
	}
	p := cell.Plan{Strict: f.strict, NoAdapt: f.noAdapt, TimeoutS: f.timeout.Seconds(), Repeats: f.repeats}
	for _, m := range models {
		targets, err := a.targets(ctx, f, m, s)
		if err != nil {
			return cell.Plan{}, err
		}
		for _, t := range targets {
			if t, err = ofGraphs(m, t); err != nil {
				return cell.Plan{}, err
			}
			p.Cells = append(p.Cells, f.cells(m.On(t))...)
		}
	}
	p, err = p.Normal()
	if err != nil {
		return p, usage("%w", err)
	}
	return p, nil
}

// cells spreads one model on one target over the asked settings.
func (f *carryFlags) cells(c cell.Cell) []cell.Cell {
	var out []cell.Cell
	seqs := f.seqs
	if len(seqs) == 0 {
		seqs = []int{0}
	}
	for _, d := range f.asked() {
		for _, b := range f.batches {
			for _, n := range seqs {
				c.DType, c.Batch, c.Seq, c.Image, c.Seed, c.Threads = d, b, n, f.image, f.seed, f.threads
				c.Mode, c.Special = f.mode, f.special
				out = append(out, c)
			}
		}
	}
	return out
}

// asked are the dtypes that were asked for, or the platform's own. Names are checked by the plan.
func (f *carryFlags) asked() []platform.DType {
	if len(f.dtypes) == 0 {
		return []platform.DType{""}
	}
	var out []platform.DType
	for _, d := range f.dtypes {
		out = append(out, platform.DType(d))
	}
	return out
}

// targets are the asked ones; auto chooses by the model's family.
func (a *app) targets(ctx context.Context, f *carryFlags, m cell.Cell, s *session.Session) ([]platform.Target, error) {
	var out []platform.Target
	for _, name := range f.platforms {
		switch name {
		case "all":
			every, err := a.every(ctx, s)
			if err != nil {
				return nil, err
			}
			out = append(out, every...)
		case "auto":
			report, err := s.Report(ctx)
			if err != nil {
				return nil, err
			}
			best, ok := detect.Best(report, m.Family)
			if !ok {
				cpu, _ := report.Get(platform.CPU)
				return nil, fmt.Errorf("%s; for the CPU: %s", best.Reason, cpu.Hint)
			}
			a.sayAuto(best)
			out = append(out, best.Target)
		default:
			t, err := platform.ParseTarget(name)
			if err != nil {
				return nil, usage("%w (or auto, or all)", err)
			}
			if err := detect.Known(t); err != nil {
				return nil, usage("%w", err)
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// sayAuto says once of each target what auto came to: a verdict on the best
// platform is none on the CPU.
func (a *app) sayAuto(best detect.Choice) {
	if target := best.Target.String(); !slices.Contains(a.autos, target) {
		a.autos = append(a.autos, target)
		a.say(fmt.Sprintf("platform auto is %s here: %s (--platform names another)", target, best.Reason))
	}
}

// every is the default target of each platform, less what is not worth running
// unless it is asked for by name.
func (a *app) every(ctx context.Context, s *session.Session) ([]platform.Target, error) {
	var out []platform.Target
	for _, p := range platform.Names() {
		t := platform.Target{Platform: p}.Normal()
		slow, err := s.EmulatedInBrowser(ctx, t)
		if err != nil {
			return nil, err
		}
		if slow {
			a.log.Info("left out of all: the browser's adapter is software, and slow; ask for it by name", "platform", p)
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// models are the chosen ones as cells without a target.
func (a *app) models(ctx context.Context, f *carryFlags, args []string, cat *catalog.Catalog) ([]cell.Cell, error) {
	var out []cell.Cell
	named := f.selector(args)
	names := named.Models
	named.Models = nil
	for _, n := range names {
		c, ok, err := a.described(ctx, f, n, cat)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, c)
			continue
		}
		named.Models = append(named.Models, n)
	}
	if len(named.Models) == 0 && len(out) > 0 && f.none(nil) {
		return out, nil
	}
	choices, err := cat.Select(named)
	if err != nil {
		return nil, usage("%w", err)
	}
	if len(choices)+len(out) == 0 {
		return nil, usage("no model fits all of what was asked for")
	}
	for _, ch := range choices {
		c, err := a.choose(f, cat, ch)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// described is a model that a config.json describes, in a folder or on the Hub;
// ok is false for one of the catalogue's.
func (a *app) described(ctx context.Context, f *carryFlags, name string, cat *catalog.Catalog) (c cell.Cell, ok bool, err error) {
	if strings.HasSuffix(name, ".onnx") {
		c, err = onnxFile(name, f)
		return c, true, err
	}
	if isPath(name) {
		c, err = a.folder(name, f, cat)
		return c, true, err
	}
	ref, ok, err := published(cat, name)
	if err == nil && ok {
		c, err = a.fromHub(ctx, f, cat, ref)
	}
	return c, ok, err
}

// sized settles a cell's size and checkpoint: a type's name means tiny, a
// checkpoint's its true size; full without one is the first that is known.
func sized(c *cell.Cell, cat *catalog.Catalog) {
	if c.Size == "" {
		c.Size = cell.Tiny
		if c.Checkpoint != "" {
			c.Size = cell.Full
		}
	}
	if c.Size == cell.Tiny {
		c.Checkpoint = ""
	} else if known := cat.CheckpointsOf(c.Type); c.Checkpoint == "" && len(known) > 0 {
		c.Checkpoint = known[0].Name
	}
}

// choose settles size and weights: a type's name means tiny and random, a
// checkpoint's its true size, with its own weights if they are at hand.
func (a *app) choose(f *carryFlags, cat *catalog.Catalog, ch catalog.Choice) (cell.Cell, error) {
	c := cell.Cell{Type: ch.Entry.Type, Family: ch.Entry.Family, Task: ch.Task, Checkpoint: ch.Checkpoint, Size: f.size, Weights: f.weights}
	sized(&c, cat)
	switch {
	case c.Weights == "" && c.Checkpoint != "":
		c.Weights = a.athand(f, hub.Ref{Model: c.Checkpoint}, ch.Checkpoint != "")
	case c.Weights == "":
		c.Weights = cell.Random
	case c.Weights != cell.Random && c.Weights != cell.Hub:
		return c, given(&c)
	case c.Weights == cell.Hub && c.Size == cell.Tiny:
		return c, usage("%s at size tiny has no published weights: name a checkpoint, or --size full", c.Type)
	}
	return c, nil
}

// given makes the weights' folder absolute, and says when there is none.
func given(c *cell.Cell) error {
	path, err := filepath.Abs(c.Weights)
	if err != nil {
		return err
	}
	if !isFolder(path) {
		return usage("--weights is random, hub or a folder: there is no folder %s", c.Weights)
	}
	c.Weights = path
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isPath tells a folder or a config.json from a model's name.
func isPath(s string) bool {
	// A folder that is there is never looked for elsewhere: somebody else may own its name on the Hub.
	if _, err := os.Stat(filepath.Join(s, "config.json")); err == nil && strings.ContainsRune(filepath.ToSlash(s), '/') {
		return true
	}
	return strings.HasPrefix(s, ".") || filepath.IsAbs(s) || strings.HasSuffix(s, ".json") || strings.HasSuffix(s, string(filepath.Separator))
}
