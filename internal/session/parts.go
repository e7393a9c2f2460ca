package session

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/internal/cell"
	"assay/internal/runner"
)

// Parts are the graphs of a model's parts, in one entry of the cache of
// exported models.
type Parts struct {
	Key   string `json:"key"`
	Parts []Part `json:"parts"`
}

// Part is a piece of a model that runs on its own.
type Part struct {
	Name   string            `json:"name"`
	Class  string            `json:"class"`
	File   string            `json:"file,omitempty"`
	Check  *cell.ExportCheck `json:"check,omitempty"`
	Failed string            `json:"failed,omitempty"` // why it could not be exported
}

// Good says whether the part was exported and its numbers are right.
func (p Part) Good() bool { return p.Failed == "" && p.Check != nil && p.Check.Pass }

// Parts exports the parts of a cell's model. say hears of downloads.
func (s *Session) Parts(ctx context.Context, c cell.Cell, say func(string)) (Parts, error) {
	var out Parts
	r, err := s.runner(ctx, false)
	if err != nil {
		return out, err
	}
	recipe, err := s.weighted(r, say).Recipe(ctx, c)
	if err != nil {
		return out, err
	}
	release, err := s.admission.Alone(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	job := runner.Job{
		Kind: runner.PartsJob, Cell: c, Recipe: recipe.JSON, Weights: recipe.Weights,
		Points:  []runner.Point{{Batch: c.Batch, Seq: c.Seq, Image: c.Image}},
		Threads: s.cores(), // nothing runs beside it
		Options: map[string]any{"exports": s.exports()},
	}
	answer, raised, err := ask(ctx, r, job)
	switch {
	case err != nil:
		return out, err
	case raised != nil:
		return out, fmt.Errorf("%s cannot be taken apart: %s", c.Model(), raised.Message)
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("read the parts of %s: %w", c.Model(), err)
	}
	return out, nil
}
