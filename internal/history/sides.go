package history

import (
	"context"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/store"
)

// Runs are the runs that the store knows, the newest first.
func (h *History) Runs(ctx context.Context) ([]store.RunRow, error) {
	if empty, err := h.store.Empty(); err != nil || empty {
		return nil, err
	}
	return h.store.Runs(ctx)
}

// Entries are the chosen results as one side of a comparison: of each repeat only
// the median. Each has the host as its own run saw it, with the driver of that day.
func (h *History) Entries(ctx context.Context, f store.Filter) ([]compare.Entry, error) {
	if empty, err := h.store.Empty(); err != nil || empty {
		return nil, err
	}
	stored, err := h.store.Comparable(ctx, f)
	if err != nil {
		return nil, err
	}
	runs, err := h.store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	hosts := map[string]cell.Host{}
	for _, r := range runs {
		hosts[r.ID] = r.Host
	}
	out := make([]compare.Entry, len(stored))
	for i, x := range stored {
		host := hosts[x.RunID]
		host.ID = x.HostID
		out[i] = compare.Entry{Result: &stored[i].Result, Run: x.RunID, Host: host, Imported: x.Imported}
	}
	return out, nil
}
