package main

import (
	"context"
	"encoding/json"
	"errors"

	"assay/internal/catalog"
	"assay/internal/environment"
	"assay/internal/release"
	"assay/internal/report"
	"assay/internal/session"

	"github.com/spf13/cobra"
)

// inUse is the environment that the user chose, and its transformers.
func (a *app) inUse() (*release.InUse, error) {
	if a.used != nil {
		return a.used, nil
	}
	used, err := a.inUseOf(a.python)
	a.used = used
	return used, err
}

// inUseOf is the same for another Python; "" is the managed environment.
func (a *app) inUseOf(python string) (*release.InUse, error) {
	f, err := a.home().FoldersToRead()
	if err != nil {
		return nil, err
	}
	chosen := session.Chosen{Maker: a.makerIn(f), Choice: environment.Choice{Python: python, NoSetup: a.noSetup}}
	return &release.InUse{
		Find: chosen.Present, Kept: catalog.Kept{Dir: f.Cache}, Say: a.say, Log: a.log,
		Read: func(ctx context.Context, cat *catalog.Catalog) (json.RawMessage, error) {
			s := session.New(session.Options{Environments: chosen, Folders: f, Catalog: cat, Version: version, Machine: a.machine, Answers: a.engines})
			b, err := s.Catalog(ctx)
			return b, errors.Join(err, s.Close())
		},
	}, nil
}

// catalog is that of the environment in use, as far as it is known.
func (a *app) catalog(ctx context.Context) (*catalog.Catalog, error) {
	used, err := a.inUse()
	if err != nil {
		return nil, err
	}
	return used.Catalog(ctx)
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
				used, err := a.inUse()
				if err == nil {
					err = used.Refresh(c.Context())
				}
				if err != nil {
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
			return report.WriteModels(report.Terminal(a.stdout, a.environ()), a.formatOr(report.Text), modelRows(entries, search))
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

// formatOr is JSON if that was asked for, else another format.
func (a *app) formatOr(other report.Format) report.Format {
	if a.asJSON {
		return report.JSON
	}
	return other
}
