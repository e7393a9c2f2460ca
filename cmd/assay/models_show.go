package main

import (
	"context"
	"errors"
	"path/filepath"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/modelpage"
	"assay/internal/plan"
	"assay/internal/session"

	"github.com/spf13/cobra"
)

func modelsShow(a *app) *cobra.Command {
	look := plan.Look{}
	c := &cobra.Command{
		Use: "show MODEL", Short: "Everything known about one model: a type, a checkpoint, or a folder with a config.json",
		Long: `Show prints what the catalogue knows about a model, what is derived for it, and what ran where.
Its parameters, operations, bytes, activations and operators are derived for any size, without allocating its memory
and without running it. That takes a few seconds the first time, and needs an environment; what is not known says why.`,
		Example: `  assay models show bert
  assay models show llama --size full --seq 2048 --json
  assay models show tinyllama --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			look.Model = args[0]
			return a.showModel(c.Context(), look)
		},
	}
	fs := c.Flags()
	fs.StringVar(&look.Size, "size", "", "tiny or full (default: tiny for a type, full for a checkpoint)")
	fs.StringVar(&look.Task, "task", "", "the model's head for this task (default: its first)")
	fs.IntVar(&look.Batch, "batch", 1, "batch size")
	fs.IntVar(&look.Seq, "seq", 0, "input length in tokens (default: the recipe's)")
	fs.IntVar(&look.Image, "image", 0, "image side in pixels (default: the recipe's)")
	return c
}

// showModel prints the model's page.
func (a *app) showModel(ctx context.Context, look plan.Look) error {
	cat, err := a.catalog(ctx)
	if err != nil {
		return err
	}
	c, entry, err := look.Cell(cat)
	if err != nil {
		return err
	}
	p := modelpage.Page{
		Schema: cell.Schema, Model: entry.Row(), Heads: entry.Heads, Checkpoints: cat.CheckpointsOf(entry.Type), Note: entry.Note,
		Size: c.Size, Task: c.Task, Checkpoint: c.Checkpoint,
	}
	if err := a.fillFacts(ctx, cat, c, &p); err != nil {
		return err
	}
	if err := a.fillResults(ctx, entry.Type, &p); err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(p)
	}
	return p.WriteText(a.stdout)
}

// fillFacts fills in the recipe and the facts, or why there are none. Only an
// end of the command is an error.
func (a *app) fillFacts(ctx context.Context, cat *catalog.Catalog, c cell.Cell, p *modelpage.Page) error {
	if !filepath.IsAbs(c.Checkpoint) {
		recipe, err := cat.Recipe(c.Type, c.Task, c.Size, c.Checkpoint)
		p.Recipe = recipe
		if none := (*catalog.NoRecipeError)(nil); errors.As(err, &none) {
			p.NoRecipe = none.Reason
		} else if err != nil {
			return err
		}
	}
	s, err := a.openPresentSession(cat)
	if err != nil {
		return err
	}
	defer s.Close()
	answer, err := s.Facts(ctx, c)
	if err != nil {
		p.NoFacts = whyNoFacts(err)
		return context.Cause(ctx)
	}
	p.Recipe, p.NoRecipe, p.Facts = answer.Recipe, "", answer.Sheet
	return nil
}

func whyNoFacts(err error) string {
	if errors.Is(err, environment.ErrAbsent) {
		return "there is no Python environment to derive them with: \"assay setup\" makes one, --python names your own"
	}
	return err.Error()
}

// openPresentSession opens a session with the environment that is there: it installs
// nothing.
func (a *app) openPresentSession(cat *catalog.Catalog) (*session.Session, error) {
	folders, err := a.foldersToRead()
	if err != nil {
		return nil, err
	}
	here := presentOnly{session.Chosen{Maker: a.makerIn(folders), Choice: environment.Choice{Python: a.python, NoSetup: true}}, a}
	return session.New(session.Options{Environments: here, Folders: folders, Catalog: cat, Version: version, Machine: a.machine, Answers: a.engines}), nil
}

// presentOnly are the environments that are there already.
type presentOnly struct {
	session.Chosen
	app *app
}

// Python is the one that the command has found before, if it has.
func (p presentOnly) Python(ctx context.Context) (environment.Environment, error) {
	return p.app.findEnvironment(ctx)
}

// fillResults fills in what ran where.
func (a *app) fillResults(ctx context.Context, modelType string, p *modelpage.Page) error {
	p.Ran = []modelpage.Ran{}
	h, err := a.history()
	if err != nil {
		return err
	}
	results, err := h.OfType(ctx, modelType)
	if err != nil {
		p.NoRan = err.Error()
		return context.Cause(ctx)
	}
	p.Ran = modelpage.Latest(results)
	return nil
}
