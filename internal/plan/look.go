package plan

import (
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
)

// Look names one model to be looked at, not run: a type, a checkpoint of the
// catalogue, or a folder with a config.json.
type Look struct {
	Model, Size, Task string
	Batch, Seq, Image int
}

// Cell is the cell that is looked at, on no particular target, and the
// catalogue's entry of its type.
func (l Look) Cell(cat *catalog.Catalog) (cell.Cell, catalog.Entry, error) {
	c, err := l.find(cat)
	if err != nil {
		return c, catalog.Entry{}, err
	}
	entry, known := cat.Get(c.Type)
	if !known {
		return c, entry, refuse("%s is for model_type %q, which transformers %s does not have", l.Model, c.Type, cat.Transformers)
	}
	if _, has := entry.ClassFor(l.Task); l.Task != "" && !has {
		return c, entry, refuse("%s has no head for task %q: its tasks are %s", c.Type, l.Task, strings.Join(entry.Tasks(), ", "))
	}
	if l.Batch < 1 {
		return c, entry, refuse("--batch %d: it must be at least 1", l.Batch)
	}
	c.Task, c.Batch, c.Seq, c.Image = l.Task, l.Batch, l.Seq, l.Image
	if err := c.Validate(); err != nil {
		return c, entry, &RequestError{err}
	}
	return c.Normal(), entry, nil
}

// find resolves a name or a path, and settles the size. Weights do not matter.
func (l Look) find(cat *catalog.Catalog) (cell.Cell, error) {
	if IsPath(l.Model) {
		c, err := readFolder(cat, l.Model, l.Size, false)
		c.Weights = cell.Random
		return c, err
	}
	r, err := cat.Resolve(l.Model)
	if err != nil {
		return cell.Cell{}, &RequestError{err}
	}
	c := cell.Cell{Type: r.Entry.Type, Checkpoint: r.Checkpoint, Size: l.Size}
	settleSize(&c, cat)
	return c, nil
}
