package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/internal/artefact"
	"assay/internal/cell"
	"assay/internal/session"
)

// partsGiven is one model whose parts were exported.
type partsGiven struct {
	Model  string         `json:"model"`
	Folder string         `json:"folder"`
	Parts  []session.Part `json:"parts"`
}

// exportParts exports models in parts, each a graph of its own with a check of
// its own.
func (a *app) exportParts(ctx context.Context, w artefact.Writer, s *session.Session, cells []cell.Cell) error {
	if w.Format.Name != "onnx" {
		return usage("--parts needs --format onnx")
	}
	all, good := []partsGiven{}, true
	for _, c := range cells {
		found, err := s.Parts(ctx, c, a.say)
		if err != nil {
			return err
		}
		folder, err := w.WriteParts(c, found.Key)
		if occupied := (*artefact.OccupiedError)(nil); errors.As(err, &occupied) {
			return usage("%w", err)
		}
		if err != nil {
			return err
		}
		good = good && !slices.ContainsFunc(found.Parts, func(p session.Part) bool { return !p.Good() })
		all = append(all, partsGiven{c.Model(), folder, found.Parts})
	}
	var err error
	if a.asJSON {
		err = a.printJSON(exportPartsAnswer{Schema: 1, Exported: all})
	} else {
		a.printParts(all)
	}
	if err == nil && !good {
		err = &statusError{exitFails, nil}
	}
	return err
}

func (a *app) printParts(all []partsGiven) {
	for _, g := range all {
		fmt.Fprintf(a.stdout, "%s in %d parts\n  %s\n", g.Model, len(g.Parts), g.Folder)
		for _, p := range g.Parts {
			switch {
			case p.Failed != "":
				fmt.Fprintf(a.stdout, "  ✗ %s: %s\n", p.Name, p.Failed)
			case !p.Good():
				fmt.Fprintf(a.stdout, "  ✗ %s: its numbers are not the model's\n", p.Name)
			default:
				fmt.Fprintf(a.stdout, "  ✓ %s: %s, error %.1e\n", p.Name, p.File, *p.Check.MaxRel)
			}
		}
	}
}
