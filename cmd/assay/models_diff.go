package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"assay/internal/release"
	"assay/internal/snapshot"

	"github.com/spf13/cobra"
)

func modelsDiff(a *app) *cobra.Command {
	var results bool
	c := &cobra.Command{
		Use: "diff OLD NEW", Short: "What changed between two releases of transformers: types, and their results in a sweep",
		Long: `Diff compares two sides. Each is one of
  embedded          the catalogue that this program carries
  installed         that of the environment in use (--python)
  5.22.2            that of a release whose types were read before (assay models --refresh)
  venv/bin/python   that of another environment
  FILE              what "assay models export", "models --json", "matrix --json" or "test --json" wrote
  RUN               the results of a run in the store
Where both hold results, it lists what broke and what was fixed; with --results, the store's results of each
release are compared too.

Exit status: 0 nothing that ran is broken; 1 the program failed; 2 wrong usage; 3 something that ran is broken.`,
		Example: `  assay models export now.json && assay models diff embedded now.json
  assay models export now.json && assay models diff embedded now.json --results`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			sides, err := a.sides()
			if err != nil {
				return err
			}
			old, err := sides.Find(c.Context(), args[0], results)
			if err != nil {
				return err
			}
			now, err := sides.Find(c.Context(), args[1], results)
			if err != nil {
				return err
			}
			d := snapshot.Compare(old, now)
			d.Old.Name, d.New.Name = args[0], args[1]
			return a.printDifference(d)
		},
	}
	c.Flags().BoolVar(&results, "results", false, "also compare the store's results of each release")
	return c
}

// sides finds what users name to be compared.
func (a *app) sides() (release.Sides, error) {
	used, err := a.inUse()
	if err != nil {
		return release.Sides{}, err
	}
	h, err := a.home().History()
	return release.Sides{InUse: used, Other: a.inUseOf, Past: h}, err
}

func (a *app) printDifference(d snapshot.Difference) error {
	if d.Added == nil && d.Broken == nil {
		return usage("%s and %s have nothing in common to compare: one side holds only types, the other only results", d.Old.Name, d.New.Name)
	}
	err := a.print(d, d.WriteText)
	if err == nil && len(d.Broken) > 0 {
		return &statusError{exitFails, nil}
	}
	return err
}

func modelsExport(a *app) *cobra.Command {
	var results bool
	c := &cobra.Command{
		Use: "export FILE", Short: "Write the catalogue of the environment in use to a file, for models diff",
		Long: `Export writes the model types of the environment in use, or of this program where there is none, and with
--results what the store holds of that release: the newest result of each model and setting.`,
		Example: `  assay models export models.json
  assay models export models.json --results`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.exportModels(c.Context(), args[0], results) },
	}
	c.Flags().BoolVar(&results, "results", false, "include the store's results of this release")
	return c
}

func (a *app) exportModels(ctx context.Context, path string, results bool) error {
	sides, err := a.sides()
	if err != nil {
		return err
	}
	s, err := sides.Present(ctx, results)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the catalogue: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the catalogue: %w", err)
	}
	a.say(fmt.Sprintf("wrote %s: %d types of transformers %s, %d results", path, len(s.Types), s.Transformers, len(s.Outcomes)))
	return nil
}
