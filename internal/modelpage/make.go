package modelpage

import (
	"context"
	"errors"
	"path/filepath"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/facts"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// Sources are where a page is filled from.
type Sources struct {
	Catalog *catalog.Catalog
	// Facts derives what there is to know about a cell's model without running it.
	Facts func(context.Context, cell.Cell) (facts.Answer, error)
	// Results are those of a model type, the newest first.
	Results func(ctx context.Context, modelType string) ([]matrix.Observation, error)
	// Atlas is what was published of a type, by platform; nil is nothing.
	Atlas func(modelType string) map[platform.Name]matrix.Published
}

// Make makes the page of a cell's model, whose type has this entry. What cannot
// be told has a reason on the page; only an end of the command is an error.
func Make(ctx context.Context, c cell.Cell, entry catalog.Entry, from Sources) (Page, error) {
	p := Page{
		Schema: cell.Schema, Model: entry.Row(), Heads: entry.Heads, Checkpoints: from.Catalog.CheckpointsOf(entry.Type), Note: entry.Note,
		Size: c.Size, Task: c.Task, Checkpoint: c.Checkpoint, Ran: []Ran{},
	}
	if err := p.fillFacts(ctx, c, from); err != nil {
		return p, err
	}
	err := p.fillResults(ctx, entry.Type, from)
	p.fillAtlas(entry.Type, from)
	return p, err
}

// fillFacts fills in the recipe and the facts, or why there are none.
func (p *Page) fillFacts(ctx context.Context, c cell.Cell, from Sources) error {
	if !filepath.IsAbs(c.Checkpoint) {
		recipe, err := from.Catalog.Recipe(c.Type, c.Task, c.Size, c.Checkpoint)
		p.Recipe = recipe
		if none := (*catalog.NoRecipeError)(nil); errors.As(err, &none) {
			p.NoRecipe = none.Reason
		} else if err != nil {
			return err
		}
	}
	answer, err := from.Facts(ctx, c)
	if err != nil {
		p.NoFacts = whyNoFacts(err)
		p.Deriving = errors.Is(err, facts.ErrDeriving) || errors.Is(err, facts.ErrManyDeriving)
		return context.Cause(ctx)
	}
	p.Recipe, p.NoRecipe, p.Facts = answer.Recipe, "", answer.Sheet
	return nil
}

func whyNoFacts(err error) string {
	if errors.Is(err, environment.ErrAbsent) {
		return "there is no Python environment to derive them with: \"assay setup\" makes one, --python names your own"
	}
	return err.Error()
}

// fillResults fills in what ran where.
func (p *Page) fillResults(ctx context.Context, modelType string, from Sources) error {
	results, err := from.Results(ctx, modelType)
	if err != nil {
		p.NoRan = err.Error()
		return context.Cause(ctx)
	}
	p.Ran = Latest(results)
	return nil
}

// fillAtlas adds what was published for platforms on which the tiny type did not run here.
func (p *Page) fillAtlas(modelType string, from Sources) {
	p.Atlas = []matrix.Published{}
	if from.Atlas == nil {
		return
	}
	ran := map[string]bool{}
	for _, r := range p.Ran {
		ran[r.Platform] = ran[r.Platform] || r.Size == cell.Tiny && r.Verdict != cell.Unavailable
	}
	said := from.Atlas(modelType)
	for _, name := range platform.Names() {
		if s, ok := said[name]; ok && !ran[string(name)] {
			p.Atlas = append(p.Atlas, s)
		}
	}
}
