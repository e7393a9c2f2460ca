package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/content"
	"assay/internal/failure"
	"assay/internal/hub"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/runner"
)

// Weights says how cells with given weights come to them.
type Weights struct {
	// Hub opens the Hub; say hears of its progress. Nil has none.
	Hub func(say func(string)) (*hub.Hub, error)
	// Want allows pickles and the models' own code.
	Want hub.Want
	// Fresh asks the Hub what a revision is today, also where the cache knows
	// what it was.
	Fresh bool
}

// weighted finds a cell's recipe and its weights: what is not on this disk is
// loaded before a child is started, so that children need no network.
type weighted struct {
	Weights
	recipes *recipes
	say     func(string)
	book    *content.Book

	mu    sync.Mutex // also keeps downloads one after the other: each uses the whole line
	hub   *hub.Hub
	found map[wanted]hub.Snapshot
}

// weighted are the recipes of a runner's release, with the weights of this
// session. say hears of downloads.
func (s *Session) weighted(r *open, say func(string)) *weighted {
	return &weighted{Weights: s.o.Weights, recipes: s.recipes(r), say: say, book: s.book()}
}

// wanted is what the Hub is asked for, once.
type wanted struct {
	hub.Ref
	hub.Want
}

// Recipe implements lab.Recipes.
func (w *weighted) Recipe(ctx context.Context, c cell.Cell) (lab.Recipe, error) {
	given, err := w.place(ctx, c)
	if err != nil {
		return lab.Recipe{}, unloaded(err)
	}
	config, err := w.config(ctx, c, given)
	if err != nil {
		return lab.Recipe{}, unloaded(err)
	}
	var r lab.Recipe
	if config == "" {
		r, err = w.recipes.Recipe(ctx, c)
	} else {
		r, err = w.recipes.given(ctx, c, config, w.Want.Code)
	}
	r.Weights = given
	if err == nil {
		// Files that cannot be read are the child's to complain of.
		r.Content, _ = contentOf(ctx, w.book, c, w.Want)
		err = context.Cause(ctx)
	}
	return r, err
}

// place is where a cell's weights are, whole; nil for those that are drawn.
func (w *weighted) place(ctx context.Context, c cell.Cell) (*runner.Weights, error) {
	switch {
	case c.Engine == platform.Noop || c.Weights == cell.Random || c.Type == cell.ONNX: // a graph holds its own
		return nil, nil
	case c.Weights == cell.Hub && filepath.IsAbs(c.Checkpoint), c.Weights == cell.Hub && c.Checkpoint == "":
		return nil, &hub.Error{Kind: hub.BadName, Problem: "the cell names no checkpoint of the Hub, so there are no published weights to use"}
	case c.Weights == cell.Hub:
		s, err := w.fetch(ctx, hub.Ref{Model: c.Checkpoint, Revision: c.Revision}, w.Want)
		return &runner.Weights{Folder: s.Folder, Commit: s.Commit, Pickle: w.Want.Pickle}, err
	}
	_, err := hub.Inspect(c.Weights, w.Want)
	return &runner.Weights{Folder: c.Weights, Pickle: w.Want.Pickle}, err
}

// config is the path of the config.json that a recipe is made from; "" where
// the catalogue has the recipe, or nobody knows.
func (w *weighted) config(ctx context.Context, c cell.Cell, given *runner.Weights) (string, error) {
	ref := hub.Ref{Model: c.Checkpoint, Revision: c.Revision}
	switch {
	case c.Engine == platform.Noop || c.Size != cell.Full || c.Checkpoint == "":
		return "", nil
	case filepath.IsAbs(c.Checkpoint):
		return c.Checkpoint, nil
	case c.Revision == "" && published(w.recipes.catalog, c):
		return "", nil
	case given != nil && c.Weights == cell.Hub:
		return filepath.Join(given.Folder, "config.json"), nil
	}
	s, err := w.fetch(ctx, ref, hub.Want{ConfigOnly: true})
	switch {
	case err == nil:
		return filepath.Join(s.Folder, "config.json"), nil
	case c.Revision == "" && !w.Fresh:
		return "", nil // the catalogue says what is missing
	}
	return "", err
}

// published says whether the catalogue has the checkpoint's configuration.
func published(cat *catalog.Catalog, c cell.Cell) bool {
	return slices.ContainsFunc(cat.CheckpointsOf(c.Type), func(k catalog.Checkpoint) bool { return k.Name == c.Checkpoint })
}

// fetch loads from the Hub, once a session.
func (w *weighted) fetch(ctx context.Context, ref hub.Ref, want hub.Want) (hub.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.found[wanted{ref, want}]; ok {
		return s, nil
	}
	if w.hub == nil {
		if w.Hub == nil {
			return hub.Snapshot{}, &hub.Error{Kind: hub.Offline, Problem: "this program loads nothing from the Hub", Hint: "name the weights' folder"}
		}
		h, err := w.Hub(w.say)
		if err != nil {
			return hub.Snapshot{}, err
		}
		w.hub = h
	}
	if !w.Fresh {
		if s, err := w.hub.Cached(ref, want); err == nil || want.ConfigOnly {
			return s, err
		}
	}
	s, err := w.hub.Fetch(ctx, ref, want)
	if err == nil {
		if w.found == nil {
			w.found = map[wanted]hub.Snapshot{}
		}
		w.found[wanted{ref, want}] = s
	}
	return s, err
}

// classes are the failures that trouble with weights is. The others are
// missing weights.
var classes = map[hub.Kind]cell.FailureClass{
	hub.NoSpace: cell.Environment, hub.Disk: cell.Environment, hub.BadSetting: cell.Environment,
	hub.OwnCode: cell.MissingDependency, hub.BadConfig: cell.ModelError,
}

// unloaded is an error that the lab makes a failure of; one that only says
// that the plan was stopped stays as it is.
func unloaded(err error) error {
	var e *hub.Error
	if errors.As(err, &e) {
		return &weightsError{e}
	}
	return err
}

// weightsError is weights that a cell cannot have.
type weightsError struct{ cause *hub.Error }

func (e *weightsError) Error() string { return e.cause.Error() }
func (e *weightsError) Unwrap() error { return e.cause }

// Failure gives the lab the sentence and the hint as they are.
func (e *weightsError) Failure() cell.Failure {
	class, ok := classes[e.cause.Kind]
	if !ok {
		class = cell.MissingWeights
	}
	f := failure.Of(class, e.cause.Problem)
	if e.cause.Hint != "" {
		f.Hint = e.cause.Hint
	}
	return f
}
