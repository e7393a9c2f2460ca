// Package build makes the atlas from the journals of published runs: what
// internal/table folds, for every type of the catalogue, components and pipelines
// without a recipe among them. What has no answer gets its reason here.
package build

import (
	"errors"
	"fmt"
	"strings"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/table"
)

// From is the atlas of these runs.
func From(cat *catalog.Catalog, runs []table.Run) (atlas.Atlas, error) {
	folded := table.Fold(cat.Types(), runs)
	a := atlas.Atlas{Transformers: cat.Transformers, Diffusers: cat.Diffusers}
	for _, c := range folded.Columns {
		a.Columns = append(a.Columns, atlas.Column(c))
	}
	sources, answered := map[string]*atlas.Run{}, map[string]bool{} // targets
	for _, r := range folded.Runs {
		sources[r.ID] = source(r)
	}
	for _, row := range folded.Rows {
		for i, answer := range row.Answers {
			if answer != nil {
				answered[a.Columns[i].Target] = true
			}
		}
	}
	for _, row := range folded.Rows {
		out := atlas.Row{Type: row.Type}
		for i, answer := range row.Answers {
			if answer == nil {
				why, err := reason(cat, row.Type, a.Columns[i], answered[a.Columns[i].Target])
				if err != nil {
					return a, err
				}
				out.Claims = append(out.Claims, atlas.Unknown(a.Columns[i], why))
				continue
			}
			claim := atlas.Of(answer.Result)
			claim.Column, claim.Run = a.Columns[i], sources[answer.Run]
			out.Claims = append(out.Claims, claim)
		}
		a.Rows = append(a.Rows, out)
	}
	return a, a.Check()
}

func source(r table.Run) *atlas.Run {
	h := r.Host
	return &atlas.Run{ID: r.ID, Assay: r.Assay, Host: atlas.Host{
		ID: h.ID, OS: h.OS, Arch: h.Arch, CPU: h.CPU, Cores: h.Cores, MemoryBytes: h.MemoryBytes, Devices: h.Devices}}
}

// reason is why nothing is known of a type in a column.
func reason(cat *catalog.Catalog, modelType string, c atlas.Column, answered bool) (string, error) {
	_, err := cat.Recipe(modelType, "", cell.Tiny, "")
	none := (*catalog.NoRecipeError)(nil)
	switch {
	case errors.As(err, &none):
		return "no recipe is known: " + strings.TrimPrefix(none.Reason, catalog.FoundNone), nil
	case err != nil:
		return "", err
	case !answered:
		return fmt.Sprintf("no run on %s is published", c.Target), nil
	}
	return fmt.Sprintf("the published runs on %s in %s have no answer for it", c.Target, c.DType), nil
}
