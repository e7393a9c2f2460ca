package main

import (
	"errors"
	"fmt"
	"io"
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
func (a *app) exportParts(w artefact.Writer, cells []cell.Cell, export func(cell.Cell) (session.Parts, error)) error {
	if w.Format.Name != "onnx" {
		return usage("--parts needs --format onnx")
	}
	all, good, err := giveParts(w, cells, export)
	if occupied := (*artefact.OccupiedError)(nil); errors.As(err, &occupied) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	err = a.print(exportPartsAnswer{Schema: 1, Exported: all}, func(w io.Writer) error {
		writeParts(w, all)
		return nil
	})
	if err == nil && !good {
		err = &statusError{exitFails, nil}
	}
	return err
}

// giveParts exports each model and writes its parts; good is whether all of them
// have the model's numbers.
func giveParts(w artefact.Writer, cells []cell.Cell, export func(cell.Cell) (session.Parts, error)) (all []partsGiven, good bool, err error) {
	all, good = []partsGiven{}, true
	for _, c := range cells {
		found, err := export(c)
		if err != nil {
			return nil, false, err
		}
		folder, err := w.WriteParts(c, found.Key)
		if err != nil {
			return nil, false, err
		}
		good = good && !slices.ContainsFunc(found.Parts, func(p session.Part) bool { return !p.Good() })
		all = append(all, partsGiven{c.Model(), folder, found.Parts})
	}
	return all, good, nil
}

func writeParts(w io.Writer, all []partsGiven) {
	for _, g := range all {
		fmt.Fprintf(w, "%s in %d parts\n  %s\n", g.Model, len(g.Parts), g.Folder)
		for _, p := range g.Parts {
			switch {
			case p.Failed != "":
				fmt.Fprintf(w, "  ✗ %s: %s\n", p.Name, p.Failed)
			case !p.Good():
				fmt.Fprintf(w, "  ✗ %s: its numbers are not the model's\n", p.Name)
			default:
				fmt.Fprintf(w, "  ✓ %s: %s, error %.1e\n", p.Name, p.File, *p.Check.MaxRel)
			}
		}
	}
}
