package history

import (
	"context"

	"assay/internal/cell"
	"assay/internal/store"
)

// Kept is a result with its id, its run and its host.
type Kept = store.Stored

// All are all results, the newest first, and the hosts that they came from: of each
// repeat only the median, and no logs, so that a server can hold them in memory.
func (h *History) All(ctx context.Context) ([]Kept, []cell.Host, error) {
	list, err := h.results(ctx, store.Filter{Medians: true})
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	for i := range list {
		r := &list[i].Result
		if r.Failure != nil {
			r.Failure.Log = ""
		}
		if r.Placement != nil {
			r.Placement.Counters = nil
		}
	}
	hosts, err := h.store.Hosts(ctx)
	return list, hosts, err
}

// Whole are the results with these ids, or of these runs, with their samples and logs.
func (h *History) Whole(ctx context.Context, ids, runs []string) ([]Kept, error) {
	return h.results(ctx, store.Filter{IDs: ids, Runs: runs, Samples: true})
}
