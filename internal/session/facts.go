package session

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/facts"
	"assay/internal/runner"
)

// Facts derives what there is to know about a cell's model without running it, or
// returns what was derived before: then no process is started.
func (s *Session) Facts(ctx context.Context, c cell.Cell) (facts.Answer, error) {
	if known, ok, err := s.KnownFacts(ctx, c); ok || err != nil {
		return known, err
	}
	return s.DeriveFacts(ctx, c)
}

// KnownFacts are what was derived before; false where nothing was.
func (s *Session) KnownFacts(ctx context.Context, c cell.Cell) (facts.Answer, bool, error) {
	env, err := s.environment.Get(ctx)
	if err != nil {
		return facts.Answer{}, false, err
	}
	source, ok := s.knownRecipes(env.Versions["transformers"]).source(c)
	if !ok {
		return facts.Answer{}, false, nil
	}
	known, ok := s.keptFacts().Get(question(c, source, env))
	return known, ok, nil
}

// DeriveFacts derives them and keeps them for KnownFacts.
func (s *Session) DeriveFacts(ctx context.Context, c cell.Cell) (facts.Answer, error) {
	env, err := s.environment.Get(ctx)
	if err != nil {
		return facts.Answer{}, err
	}
	answer, err := s.derive(ctx, c)
	if err != nil {
		return answer, err
	}
	if source, ok := s.knownRecipes(env.Versions["transformers"]).source(c); ok {
		// What cannot be kept is derived again.
		_ = s.keptFacts().Put(question(c, source, env), answer)
	}
	return answer, nil
}

func (s *Session) keptFacts() facts.Cache { return facts.Cache{Dir: s.cache("facts")} }

func question(c cell.Cell, source []byte, env environment.Environment) facts.Question {
	versions := maps.Clone(env.Versions)
	if versions == nil {
		versions = map[string]string{}
	}
	// The folder of the runner's sources is named by their content.
	versions["runner"] = filepath.Base(env.PythonPath)
	return facts.Question{Source: source, Task: c.Task, Batch: c.Batch, Seq: c.Seq, Image: c.Image, Versions: versions}
}

// source is what decides the cell's model, where that is at hand without a
// runner: its recipe, or the user's config.json.
func (r *recipes) source(c cell.Cell) ([]byte, bool) {
	if filepath.IsAbs(c.Checkpoint) {
		b, err := os.ReadFile(c.Checkpoint)
		return b, err == nil
	}
	b, err := r.catalog.Recipe(c.Type, c.Task, c.Size, c.Checkpoint)
	if err == nil && (c.Size != cell.Tiny || !r.foreign(b)) {
		return b, true
	}
	return r.kept(c)
}

// derive has the runner derive the facts.
func (s *Session) derive(ctx context.Context, c cell.Cell) (facts.Answer, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return facts.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Limit)
	defer cancel()
	recipe, err := s.weighted(r, func(string) {}).Recipe(ctx, c)
	if err != nil {
		return facts.Answer{}, err
	}
	return derive(ctx, r, c, recipe.JSON)
}

func derive(ctx context.Context, r runner.Runner, c cell.Cell, recipe []byte) (facts.Answer, error) {
	job := runner.Job{Kind: runner.FactsJob, Cell: c, Recipe: recipe, Points: []runner.Point{{Batch: c.Batch, Seq: c.Seq, Image: c.Image}}}
	b, raised, err := ask(ctx, r, job)
	if raised != nil {
		return facts.Answer{}, fmt.Errorf("its facts cannot be derived: %s: %s", raised.Type, raised.Message)
	}
	if err != nil {
		return facts.Answer{}, fmt.Errorf("its facts cannot be derived: %w", err)
	}
	sheet, err := facts.Parse(b)
	return facts.Answer{Recipe: recipe, Sheet: sheet}, err
}
