package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/cell"
	"assay/internal/session"
)

// partsGiven is one model whose parts were given out.
type partsGiven struct {
	Model  string         `json:"model"`
	Folder string         `json:"folder"`
	Parts  []session.Part `json:"parts"`
}

// giveParts exports models in parts, each a graph of its own with a check of
// its own.
func (a *app) giveParts(ctx context.Context, f *exportFlags, s *session.Session, cells []cell.Cell) error {
	if f.format != "onnx" {
		return usage("--parts goes with --format onnx")
	}
	cache, err := a.exports()
	if err != nil {
		return err
	}
	all, bad := []partsGiven{}, 0
	for _, c := range cells {
		found, err := s.Parts(ctx, c, a.say)
		if err != nil {
			return err
		}
		folder := filepath.Join(f.out, strings.ReplaceAll(c.Model(), "/", "--")+"-onnx-parts")
		if old, err := os.ReadDir(folder); err == nil && len(old) > 0 && !f.force {
			return usage("%s holds files already: give --force to write over them, or another --out", folder)
		}
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("clear %s: %w", folder, err)
		}
		if _, err := cache.Copy(found.Key, folder); err != nil {
			return err
		}
		for _, p := range found.Parts {
			if !p.Good() {
				bad++
			}
		}
		all = append(all, partsGiven{c.Model(), folder, found.Parts})
	}
	if a.asJSON {
		err = a.printJSON(exportPartsAnswer{Schema: 1, Exported: all})
	} else {
		a.printParts(all)
	}
	if err == nil && bad > 0 {
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
