package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

// catalog is the embedded one, or that of the environment in use where it has
// another release of transformers and its types were read before.
func (a *app) catalog(ctx context.Context) (*catalog.Catalog, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	// Without an environment, what is embedded is what is known.
	release, path := a.release(ctx)
	if release == "" || release == cat.Transformers {
		return cat, nil
	}
	if !exists(path) {
		a.log.Info("the environment has another transformers; its own types are read by \"assay models --refresh\"", "environment", release, "catalogue", cat.Transformers)
		return cat, nil
	}
	return cat.WithFile(path)
}

// release is the transformers of the environment in use, and where its
// catalogue is kept.
func (a *app) release(ctx context.Context) (release, path string) {
	m, err := a.maker()
	if err != nil {
		return "", ""
	}
	choice := a.choice()
	choice.NoSetup = true
	env, err := m.Open(ctx, choice)
	if err != nil {
		return "", ""
	}
	f, err := a.folders()
	if err != nil {
		return "", ""
	}
	release = env.Versions["transformers"]
	return release, filepath.Join(f.Cache, "catalog-"+release+".json")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// refresh reads the types of the environment in use by introspection.
func (a *app) refresh(ctx context.Context) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	s, err := a.session(&carryFlags{}, cat)
	if err != nil {
		return err
	}
	defer s.Close()
	a.say("reading the model types of the installed transformers; this takes a minute or two")
	b, err := s.Catalog(ctx)
	if err != nil {
		return err
	}
	fresh, err := cat.With(b)
	if err != nil {
		return err
	}
	_, path := a.release(ctx)
	a.say(fmt.Sprintf("%d types of transformers %s", len(fresh.Types()), fresh.Transformers))
	return os.WriteFile(path, b, 0o644)
}

func modelsCommand(a *app) *cobra.Command {
	s := &selectors{}
	var search string
	var refresh bool
	c := &cobra.Command{
		Use:   "models [MODEL…]",
		Short: "Which models are there? The catalogue of types, tasks, families and checkpoints",
		Example: `  assay models --key
  assay models --family state-space
  assay models --search whisper --json
  assay models show bert`,
		RunE: func(c *cobra.Command, args []string) error {
			if refresh {
				if err := a.refresh(c.Context()); err != nil {
					return err
				}
			}
			cat, err := a.catalog(c.Context())
			if err != nil {
				return err
			}
			sel := s.selector(args)
			if s.none(args) {
				sel.All = true
			}
			entries, err := cat.Select(sel)
			if err != nil {
				return usage("%w", err)
			}
			return report.WriteModels(a.styled(), a.format(), modelRows(entries, search))
		},
	}
	s.add(c)
	c.Flags().StringVar(&search, "search", "", "only models with this text in their type, class, task, family or checkpoint")
	c.Flags().BoolVar(&refresh, "refresh", false, "first read the types of the environment in use, if it has another transformers")
	c.AddCommand(modelsShow(a))
	return c
}

func modelRows(choices []catalog.Choice, search string) []report.ModelRow {
	var rows []report.ModelRow
	for _, c := range choices {
		if search == "" || c.Entry.Matches(search) {
			rows = append(rows, report.ModelRow(c.Entry.Row()))
		}
	}
	return rows
}

func modelsShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show MODEL", Short: "Everything the catalogue knows of one model",
		Example: `  assay models show bert
  assay models show tinyllama --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cat, err := a.catalog(c.Context())
			if err != nil {
				return err
			}
			r, err := cat.Resolve(args[0])
			if err != nil {
				return usage("%w", err)
			}
			page, err := newModelPage(cat, r)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(page)
			}
			page.text(a)
			return nil
		},
	}
}

// modelPage is what models show prints.
type modelPage struct {
	Schema      int                  `json:"schema"`
	Model       catalog.Row          `json:"model"`
	Heads       []catalog.Head       `json:"heads"`
	Checkpoints []catalog.Checkpoint `json:"checkpoints"`
	Recipe      json.RawMessage      `json:"recipe"` // tiny; null where there is none
	NoRecipe    string               `json:"no_recipe,omitempty"`
	Note        string               `json:"note,omitempty"`
}

func newModelPage(cat *catalog.Catalog, r catalog.Resolved) (modelPage, error) {
	p := modelPage{Schema: cell.Schema, Model: r.Entry.Row(), Heads: r.Entry.Heads, Checkpoints: cat.CheckpointsOf(r.Entry.Type), Note: r.Entry.Note}
	recipe, err := cat.Recipe(r.Entry.Type, "", cell.Tiny, "")
	var none *catalog.NoRecipeError
	if errors.As(err, &none) {
		p.NoRecipe = none.Reason
		return p, nil
	}
	p.Recipe = recipe
	return p, err
}

func (p modelPage) text(a *app) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.stdout, "%-12s %s\n", name, value)
		}
	}
	line("type", p.Model.Type)
	line("class", p.Model.Class)
	line("task", p.Model.Task)
	line("families", strings.Join(p.Model.Families, ", "))
	line("pipeline", p.Model.Pipeline)
	line("priority", p.Model.Priority)
	line("inputs", strings.Join(p.Model.Inputs, ", "))
	line("documented", p.Model.Checkpoint)
	for _, h := range p.Heads {
		line("head", h.Task+" ("+h.Class+")")
	}
	for _, k := range p.Checkpoints {
		line("checkpoint", fmt.Sprintf("%s (%s parameters)", k.Name, report.Count(k.Parameters)))
	}
	line("recipe", p.NoRecipe)
	if p.Recipe != nil {
		line("recipe", "tiny, "+string(p.Recipe))
	}
	line("note", p.Note)
}

// styled is standard output with styles where it can show them.
func (a *app) styled() io.Writer { return report.Terminal(a.stdout, a.environ()) }

func (a *app) format() report.Format {
	if a.asJSON {
		return report.JSON
	}
	return report.Text
}
