package history

import (
	"context"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/snapshot"
	"assay/internal/store"
)

// OutcomesOfRun are what a run said about each model; nil where the store knows no
// such run.
func (h *History) OutcomesOfRun(ctx context.Context, run string) ([]snapshot.Outcome, error) {
	return h.outcomes(ctx, store.Filter{Runs: []string{run}}, func(cell.Result) bool { return true })
}

// OutcomesOfRelease are what was last said about each model with a release of
// transformers; nil where nothing was.
func (h *History) OutcomesOfRelease(ctx context.Context, release string) ([]snapshot.Outcome, error) {
	return h.outcomes(ctx, store.Filter{}, func(r cell.Result) bool { return r.Context.Versions["transformers"] == release })
}

func (h *History) outcomes(ctx context.Context, f store.Filter, wanted func(cell.Result) bool) ([]snapshot.Outcome, error) {
	stored, err := h.results(ctx, f)
	if err != nil {
		return nil, err
	}
	var results []cell.Result
	for _, x := range stored {
		if wanted(x.Result) {
			results = append(results, x.Result)
		}
	}
	if len(results) == 0 {
		return nil, nil
	}
	return snapshot.OfResults(results), nil
}

// Head is a model type with its head for a task, in a batch.
type Head struct {
	Type, Task string
	Batch      int
}

// UsualVerdicts are the newest verdicts of runs of tiny models on a platform as it
// is usually used: one inference with the platform's own engine and dtype, in no
// particular browser. What a program other than Assay wrote is left out.
func (h *History) UsualVerdicts(ctx context.Context, on platform.Platform) (map[Head]cell.Verdict, error) {
	stored, err := h.results(ctx, store.Filter{Platforms: []string{string(on.Name)}, Sizes: []string{cell.Tiny}})
	if err != nil {
		return nil, err
	}
	out := map[Head]cell.Verdict{}
	for _, x := range slices.Backward(stored) { // oldest first: a newer one replaces it
		c := x.Result.Cell
		usual := c.Engine == on.Engines[0] && c.Browser == "" && c.Mode == cell.Infer && c.DType == on.DTypes[0]
		if usual && !x.Result.Evidence.Unrun() && x.Result.Context.Versions["assay"] != "" {
			out[Head{c.Type, c.Task, max(c.Batch, 1)}] = x.Result.Verdict
		}
	}
	return out, nil
}
