package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"assay/internal/catalog"
	"assay/internal/environment"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

// catalog is the embedded one, or that of the environment in use where it has
// another release of transformers and its types were read before.
func (a *app) catalog(ctx context.Context) (*catalog.Catalog, error) {
	embedded, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	release := a.findRelease(ctx)
	if release == "" {
		return embedded, nil // without an environment, what is embedded is what is known
	}
	kept, err := a.keptCatalogs()
	if err != nil {
		return nil, err
	}
	cat, known, err := kept.Find(embedded, release)
	if err == nil && !known {
		a.log.Info("the environment has another transformers; its own types are read by \"assay models --refresh\"", "environment", release, "catalogue", embedded.Transformers)
		return embedded, nil
	}
	return cat, err
}

// keptCatalogs are those of releases that were read before.
func (a *app) keptCatalogs() (catalog.Kept, error) {
	f, err := a.foldersToRead()
	return catalog.Kept{Dir: f.Cache}, err
}

// findRelease is the transformers of the environment in use; "" without one.
func (a *app) findRelease(ctx context.Context) string {
	env, err := a.findEnvironment(ctx)
	if err != nil {
		return ""
	}
	return env.Versions["transformers"]
}

// findEnvironment is the environment in use, if there is one: nothing is
// installed. It is asked for once, since a user's own Python must be started to
// tell.
func (a *app) findEnvironment(ctx context.Context) (environment.Environment, error) {
	if a.found != nil {
		return *a.found, nil
	}
	f, err := a.foldersToRead()
	if err != nil {
		return environment.Environment{}, err
	}
	m := a.makerIn(f)
	choice := a.choice()
	choice.NoSetup = true
	env, err := m.Open(ctx, choice)
	if err == nil {
		a.found = &env
	}
	return env, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// refreshCatalog reads the types of the environment in use by introspection.
func (a *app) refreshCatalog(ctx context.Context) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	s, err := a.openSession(sessionOptions{}, cat)
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
	kept, err := a.keptCatalogs()
	if err != nil {
		return err
	}
	a.say(fmt.Sprintf("%d types of transformers %s, %d pipelines of diffusers %s",
		fresh.Count(catalog.Transformers), fresh.Transformers, fresh.Count(catalog.Diffusers), fresh.Diffusers))
	return os.WriteFile(kept.Path(a.findRelease(ctx)), b, 0o644)
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
				if err := a.refreshCatalog(c.Context()); err != nil {
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
			if unknown := (*catalog.UnknownModelError)(nil); errors.As(err, &unknown) {
				return usage("%w%s", err, suggestCommand(c, unknown.Name))
			}
			if err != nil {
				return usage("%w", err)
			}
			return report.WriteModels(a.styled(), a.format(), modelRows(entries, search))
		},
	}
	s.add(c)
	c.Flags().StringVar(&search, "search", "", "only models with this text in their type, class, task, family or checkpoint")
	c.Flags().BoolVar(&refresh, "refresh", false, "first read the types of the environment in use, if it has another transformers")
	c.AddCommand(modelsShow(a), modelsExport(a), modelsDiff(a))
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

// styled is standard output with styles where it can show them.
func (a *app) styled() io.Writer { return report.Terminal(a.stdout, a.environ()) }

func (a *app) format() report.Format {
	if a.asJSON {
		return report.JSON
	}
	return report.Text
}
