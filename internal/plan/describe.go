package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/platform"
)

// Describe returns a plan file's cells with what the catalogue knows of them. A
// model, browser or device that nobody knows is an error that names the cell, and
// so is a file or folder that is not on this machine: what is learnt without it
// would say nothing about the model.
func Describe(cat *catalog.Catalog, cells []cell.Cell) ([]cell.Cell, error) {
	cells = slices.Clone(cells)
	for i := range cells {
		c, err := describe(cat, cells[i])
		if err != nil {
			return nil, refuse("cell %d: %w", i+1, err)
		}
		cells[i] = c
	}
	return cells, nil
}

func describe(cat *catalog.Catalog, c cell.Cell) (cell.Cell, error) {
	if c.Engine == platform.Noop {
		return c, nil
	}
	if err := findLocal(c); err != nil {
		return c, err
	}
	if c.Type == cell.ONNX {
		return describeGraph(c)
	}
	r, err := cat.Resolve(c.Type)
	if err == nil {
		err = detect.Known(c.Normal().Where())
	}
	if err != nil {
		return c, err
	}
	c.Type = r.Entry.Type
	if c.Family == "" {
		c.Family = r.Entry.Family
	}
	err = nameCheckpoint(cat, &c, r.Checkpoint)
	return c.Normal(), err
}

// describeGraph is the cell of an ONNX file, the same as if it had been named on
// a command line.
func describeGraph(c cell.Cell) (cell.Cell, error) {
	if c.Checkpoint == "" {
		return c, errors.New("the cell names no ONNX file: its checkpoint is the path")
	}
	graph, err := openGraph(c.Checkpoint, Request{})
	if err != nil {
		return c, err
	}
	c.Checkpoint, c.Size, c.Weights = graph.Checkpoint, graph.Size, graph.Weights
	t, err := takeGraph(c, c.Normal().Where())
	c.Platform, c.Device, c.Engine, c.Browser, c.Target = t.Platform, t.Device, t.Engine, t.Browser, ""
	if err == nil {
		err = detect.Known(t)
	}
	return c.Normal(), err
}

// nameCheckpoint settles which one a cell means: one named in place of the type
// means its true size, one named as such is found without its owner.
func nameCheckpoint(cat *catalog.Catalog, c *cell.Cell, named string) error {
	switch {
	case named != "" && c.Checkpoint == "":
		c.Checkpoint, c.Size = named, cell.Full
	case c.Checkpoint != "" && !filepath.IsAbs(c.Checkpoint):
		r, err := cat.Resolve(c.Checkpoint)
		known := err == nil && r.Checkpoint != "" // else only the Hub knows it
		if known && r.Entry.Type != c.Type {
			return fmt.Errorf("%s is a checkpoint of %s, not of %s", c.Checkpoint, r.Entry.Type, c.Type)
		}
		if known {
			c.Checkpoint = r.Checkpoint
		}
	case c.Size == cell.Full:
		settleCheckpoint(c, cat)
	}
	return nil
}

// findLocal says when a cell's own files are on another machine.
func findLocal(c cell.Cell) error {
	for _, path := range c.LocalPaths() {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is not on this machine: copy it here, or name a model that every machine can load (a type, or owner/name)", path)
		}
	}
	return nil
}
