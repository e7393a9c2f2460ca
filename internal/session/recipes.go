package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/failure"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/runner"
)

// recipes finds a cell's recipe: in the catalogue; for a tiny type that has none
// by having the runner search for one, which is kept; from a config.json by
// having the runner make one. A tiny recipe that
// another release of transformers made is tried by the runner first, and
// searched for again where it does not hold there.
type recipes struct {
	catalog *catalog.Catalog
	runner  runner.Runner
	release string // of transformers, in the environment
	cache   string // folder for recipes that were searched for; "" keeps none
	limit   time.Duration
	threads int // of the child that makes one: others may run beside it
}

// Recipe implements lab.Recipes.
func (r *recipes) Recipe(ctx context.Context, c cell.Cell) (lab.Recipe, error) {
	if c.Engine == platform.Noop {
		return lab.Recipe{Class: "noop", Task: c.Task}, nil
	}
	b, err := r.catalog.Recipe(c.Type, c.Task, c.Size, c.Checkpoint)
	var none *catalog.NoRecipeError
	if errors.As(err, &none) && r.otherHead(c) {
		b, err = r.ask(ctx, c, nil)
		none = nil
	}
	if errors.As(err, &none) && r.searchable(c, none) || err == nil && c.Size == cell.Tiny && r.foreign(b) {
		b, err = r.search(ctx, c, b)
	}
	raised := (*recipeError)(nil)
	if errors.As(err, &raised) && none == nil && strings.HasSuffix(raised.raised.Type, "NoRecipe") {
		// There is a recipe for another release, and with this one nothing runs.
		none = &catalog.NoRecipeError{Type: c.Type, Task: c.Task, Size: c.Size, Checkpoint: c.Checkpoint}
	}
	if raised != nil && none != nil {
		first, _, _ := strings.Cut(raised.Error(), " | ") // the smallest try; the others mostly say the same
		none.Reason = "a search for a shape that runs found none: " + first
		err = none
	}
	if err != nil {
		return lab.Recipe{}, err
	}
	out, err := parse(b)
	if c.Size == cell.Tiny {
		out.Kept, out.KeptOf = r.catalog.Fingerprint(c.Type, c.Task)
	}
	return out, err
}

// otherHead says whether the checkpoint's configuration is known with another
// head: it serves all of them.
func (r *recipes) otherHead(c cell.Cell) bool {
	if c.Size != cell.Full || c.Task == "" {
		return false
	}
	_, err := r.catalog.Recipe(c.Type, "", c.Size, c.Checkpoint)
	return err == nil
}

// given has the runner make the recipe of the config.json at a path. code lets
// a model bring its own code.
func (r *recipes) given(ctx context.Context, c cell.Cell, config string, code bool) (lab.Recipe, error) {
	b, err := r.ask(ctx, c, map[string]any{"config": config, "trust_remote_code": code})
	if err != nil {
		return lab.Recipe{}, err
	}
	return parse(b)
}

// foreign says whether another release made the recipe.
func (r *recipes) foreign(b json.RawMessage) bool {
	var made struct{ Transformers string }
	return r.release != "" && json.Unmarshal(b, &made) == nil && made.Transformers != r.release
}

// searchable says whether there is a model class to search a shape for, and
// nobody has with this release.
func (r *recipes) searchable(c cell.Cell, none *catalog.NoRecipeError) bool {
	if none.Searched != "" && none.Searched == r.release {
		return false
	}
	e, known := r.catalog.Get(c.Type)
	_, has := e.ClassFor(c.Task)
	return known && has && !e.Component && c.Size == cell.Tiny
}

// search has the runner look for a shape that runs, and keeps what it finds.
// A recipe of another release is the answer where it still holds.
func (r *recipes) search(ctx context.Context, c cell.Cell, other json.RawMessage) (json.RawMessage, error) {
	if b, ok := r.kept(c); ok {
		return b, nil
	}
	var options map[string]any
	if other != nil {
		options = map[string]any{"recipe": other}
	}
	b, err := r.ask(ctx, cell.Cell{Type: c.Type, Task: c.Task, Size: c.Size}, options)
	if err != nil || r.cache == "" {
		return b, err
	}
	// A recipe that cannot be kept is searched for again.
	path := r.path(c)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, b, 0o600)
	}
	return b, nil
}

// kept is a recipe that was searched for before.
func (r *recipes) kept(c cell.Cell) (json.RawMessage, bool) {
	if r.cache == "" || c.Size != cell.Tiny { // only tiny ones are searched for
		return nil, false
	}
	b, err := os.ReadFile(r.path(c))
	return b, err == nil && json.Valid(b)
}

func (r *recipes) path(c cell.Cell) string {
	return filepath.Join(r.cache, cmp.Or(c.Task, "default"), c.Type+".json")
}

// ask has the runner make a recipe.
func (r *recipes) ask(ctx context.Context, c cell.Cell, options map[string]any) (json.RawMessage, error) {
	if r.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, r.limit)
		defer cancel()
		ctx = limited
	}
	answer, raised, err := ask(ctx, r.runner, runner.Job{Kind: runner.RecipeJob, Cell: c, Threads: r.threads, Options: options})
	if raised != nil {
		err = &recipeError{*raised}
	}
	return answer, err
}

func parse(b json.RawMessage) (lab.Recipe, error) {
	var r struct {
		Class, Task string
		Parameters  int64
		Sizes       struct{ Seq, Image int }
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return lab.Recipe{}, fmt.Errorf("the recipe cannot be parsed: %w", err)
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
