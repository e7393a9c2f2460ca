package plan

import (
	"context"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/hub"
)

// Names are the models that arguments name: several may stand in one, with
// commas or spaces between them. A path is one, whatever it holds.
func Names(args []string) []string {
	var out []string
	for _, a := range args {
		if IsPath(a) {
			out = append(out, a)
			continue
		}
		out = append(out, strings.FieldsFunc(a, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return out
}

// Models are the asked models as cells without a target: those that only a file
// or the Hub describes first, then those of the catalogue.
func (p *Planner) Models(ctx context.Context, r Request) ([]cell.Cell, error) {
	var out []cell.Cell
	chosen := r.Selector
	chosen.Models = nil
	for _, name := range r.Models {
		c, ok, err := p.described(ctx, r, name)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, c)
		} else {
			chosen.Models = append(chosen.Models, name)
		}
	}
	if chosen.Empty() && len(out) > 0 {
		return out, nil
	}
	choices, err := p.Catalog.Select(chosen)
	if err != nil {
		return nil, &RequestError{err}
	}
	if len(choices)+len(out) == 0 {
		return nil, refuse("no model matches")
	}
	for _, ch := range choices {
		c, err := p.choose(r, ch)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// described is a model that is an ONNX file, or that a config.json describes, in
// a folder or on the Hub; ok is false for one of the catalogue's.
func (p *Planner) described(ctx context.Context, r Request, name string) (c cell.Cell, ok bool, err error) {
	if strings.HasSuffix(name, ".onnx") {
		c, err = openGraph(name, r)
		return c, true, err
	}
	if IsPath(name) {
		c, err = p.openFolder(name, r)
		return c, true, err
	}
	ref, ok, err := findPublished(p.Catalog, name)
	if err == nil && ok {
		c, err = p.openPublished(ctx, r, ref)
	}
	return c, ok, err
}

// choose settles size and weights of a model of the catalogue: a type's name
// means tiny and random, a checkpoint's its true size, with its own weights if
// they are at hand.
func (p *Planner) choose(r Request, ch catalog.Choice) (cell.Cell, error) {
	c := cell.Cell{Type: ch.Entry.Type, Family: ch.Entry.Family, Task: ch.Task, Checkpoint: ch.Checkpoint, Size: r.Size, Weights: r.Weights}
	settleSize(&c, p.Catalog)
	switch {
	case c.Weights == "" && c.Checkpoint != "":
		c.Weights = p.pickWeights(hub.Ref{Model: c.Checkpoint}, ch.Checkpoint != "")
	case c.Weights == "":
		c.Weights = cell.Random
	case isFolderName(c.Weights):
		return c, openWeights(&c)
	case c.Weights == cell.Hub && c.Size == cell.Tiny:
		return c, refuse("%s at size tiny has no published weights: name a checkpoint, or --size full", c.Type)
	}
	return c, nil
}

// settleSize settles a cell's size and checkpoint: a type's name means tiny, a
// checkpoint's its true size, and nothing that is tiny is a checkpoint's.
func settleSize(c *cell.Cell, cat *catalog.Catalog) {
	if c.Size == "" {
		c.Size = cell.Tiny
		if c.Checkpoint != "" {
			c.Size = cell.Full
		}
	}
	if c.Size == cell.Tiny {
		c.Checkpoint = ""
	}
	settleCheckpoint(c, cat)
}

// settleCheckpoint: a type at full size means its first known checkpoint.
func settleCheckpoint(c *cell.Cell, cat *catalog.Catalog) {
	if c.Checkpoint == "" && c.Size != cell.Tiny {
		c.Checkpoint = cat.FirstCheckpoint(c.Type)
	}
}
