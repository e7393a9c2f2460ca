// Package history answers questions about past results: what the matrix is
// folded from, which cells of a plan still have to run, what a host's times
// were, and what two releases or two runs said about each model.
//
// It is the only package that reads results from the store. A question is a
// method of History that returns plain values, so that a command, a page, a
// comparison and a prediction ask the same thing in the same way, and each
// question is tested without any of them.
//
// [cell.Key] says which results are of the same cell; a cell's
// hash is its short form. A result speaks for the cell that ran and, unless it
// ran elsewhere in an absent device's place, for the cell that was asked for:
// of that one only the hash is kept, so the two are matched by hash.
//
// An empty store answers nothing and is not created for the question.
package history

import (
	"context"
	"time"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/store"
)

// History are the past results in a store.
type History struct{ store *store.Store }

// In returns the history that a store holds.
func In(st *store.Store) *History { return &History{st} }

// briefly is how long somebody waits for a database that others use who can do
// without the answer.
const briefly = 2 * time.Second

// brief is the same history for such a question.
func (h *History) brief() *History {
	st := *h.store
	st.Wait = briefly
	return &History{&st}
}

// results are the chosen ones, the newest first.
func (h *History) results(ctx context.Context, f store.Filter) ([]store.Stored, error) {
	if empty, err := h.store.Empty(); err != nil || empty {
		return nil, err
	}
	return h.store.Results(ctx, f)
}

// Observations are all results, for the matrix, and the hosts that they came from.
func (h *History) Observations(ctx context.Context) ([]matrix.Observation, []cell.Host, error) {
	return h.observe(ctx, store.Filter{}, func(matrix.Model) bool { return true })
}

// ObservationsOf are the results of some rows of the matrix.
func (h *History) ObservationsOf(ctx context.Context, rows []matrix.Model) ([]matrix.Observation, []cell.Host, error) {
	type row struct{ modelType, checkpoint string }
	wanted := map[row]bool{}
	filter := store.Filter{}
	for _, r := range rows {
		wanted[row{r.Type, r.Checkpoint}] = true
		filter.Types = append(filter.Types, r.Type)
	}
	return h.observe(ctx, filter, func(m matrix.Model) bool { return wanted[row{m.Type, m.Checkpoint}] })
}

func (h *History) observe(ctx context.Context, f store.Filter, wanted func(matrix.Model) bool) ([]matrix.Observation, []cell.Host, error) {
	f.Samples = true // ratios and their intervals are over repeats, not over their median
	stored, err := h.results(ctx, f)
	if err != nil || len(stored) == 0 {
		return nil, nil, err
	}
	var out []matrix.Observation
	for _, x := range stored {
		if wanted(matrix.ModelOf(x.Result.Cell)) {
			out = append(out, observation(x))
		}
	}
	hosts, err := h.store.Hosts(ctx)
	return out, hosts, err
}

func observation(x store.Stored) matrix.Observation {
	return matrix.Observation{Result: x.Result, Host: x.HostID, Imported: x.Imported}
}

// OfType are the results of a model type, the newest first and without samples.
// A store that is in use is waited for only briefly.
func (h *History) OfType(ctx context.Context, modelType string) ([]matrix.Observation, error) {
	return h.OfTypes(ctx, []string{modelType})
}

// OfTypes are the same of several types, read at once.
func (h *History) OfTypes(ctx context.Context, types []string) ([]matrix.Observation, error) {
	stored, err := h.brief().results(ctx, store.Filter{Types: types})
	if err != nil {
		return nil, err
	}
	out := make([]matrix.Observation, len(stored))
	for i, x := range stored {
		out[i] = observation(x)
	}
	return out, nil
}
