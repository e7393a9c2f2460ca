package main

import (
	"context"

	"assay/internal/catalog"
	"assay/internal/environment"
	"assay/internal/modelpage"
	"assay/internal/plan"
	"assay/internal/release"
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
	s, err := a.openPresentSession(cat)
	if err != nil {
		return err
	}
	defer s.Close()
	h, err := a.home().History()
	if err != nil {
		return err
	}
	p, err := modelpage.Make(ctx, c, entry, modelpage.Sources{Catalog: cat, Facts: s.Facts, Results: h.OfType, Atlas: a.published()})
	if err != nil {
		return err
	}
	return a.print(p, p.WriteText)
}

// openPresentSession opens a session with the environment that is there: it installs
// nothing.
func (a *app) openPresentSession(cat *catalog.Catalog) (*session.Session, error) {
	folders, err := a.home().FoldersToRead()
	if err != nil {
		return nil, err
	}
	used, err := a.inUse()
	if err != nil {
		return nil, err
	}
	here := presentOnly{session.Chosen{Maker: a.makerIn(folders), Choice: environment.Choice{Python: a.python, NoSetup: true}}, used}
	return session.New(session.Options{Environments: here, Folders: folders, Catalog: cat, Version: version, Machine: a.machine, Answers: a.engines}), nil
}

// presentOnly are the environments that are there already.
type presentOnly struct {
	session.Chosen
	used *release.InUse
}

// Python is the one that the command has found before, if it has.
func (p presentOnly) Python(ctx context.Context) (environment.Environment, error) {
	return p.used.Environment(ctx)
}

// Present is the same.
func (p presentOnly) Present(ctx context.Context) (environment.Environment, error) {
	return p.used.Environment(ctx)
}
