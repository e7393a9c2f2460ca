package session

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/runner"
)

// recipes finds a cell's recipe: in the catalogue, or, for a folder of the
// user's, by asking the runner to make one from its config.json.
type recipes struct {
	catalog *catalog.Catalog
	runner  runner.Runner
}

// Recipe implements lab.Recipes.
func (r *recipes) Recipe(ctx context.Context, c cell.Cell) (lab.Recipe, error) {
	if c.Engine == platform.Noop {
		return lab.Recipe{Class: "noop", Task: c.Task}, nil
	}
	if filepath.IsAbs(c.Checkpoint) {
		return r.ask(ctx, c)
	}
	b, err := r.catalog.Recipe(c.Type, c.Task, c.Size, c.Checkpoint)
	if err != nil {
		return lab.Recipe{}, err
	}
	return parse(b)
}

// ask has the runner make a recipe.
func (r *recipes) ask(ctx context.Context, c cell.Cell) (lab.Recipe, error) {
	answer, raised, err := ask(ctx, r.runner, runner.Job{Kind: runner.RecipeJob, Cell: c, Options: map[string]any{"config": c.Checkpoint}})
	if raised != nil {
		err = &recipeError{*raised}
	}
	if err != nil {
		return lab.Recipe{}, err
	}
	return parse(answer)
}

func parse(b json.RawMessage) (lab.Recipe, error) {
	var r struct {
		Class, Task string
		Parameters  int64
		Sizes       struct{ Seq, Image int }
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return lab.Recipe{}, fmt.Errorf("the recipe does not read: %w", err)
	}
	return lab.Recipe{JSON: b, Class: r.Class, Task: r.Task, Parameters: r.Parameters, Seq: r.Sizes.Seq, Image: r.Sizes.Image}, nil
}

// recipeError is a recipe that the runner could not make.
type recipeError struct{ raised runner.Failure }

func (e *recipeError) Error() string { return e.raised.Message }

// Failure gives the lab the exception as it was.
func (e *recipeError) Failure() cell.Failure {
	return failure.Classify(failure.Evidence{
		Exception: e.raised.Type, Bases: e.raised.Bases, Message: e.raised.Message,
		Traceback: e.raised.Traceback, Phase: "recipe",
	})
}
