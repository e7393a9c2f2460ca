package history

import (
	"context"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/store"
)

// Run is one that the store knows.
type Run = store.RunRow

// Chosen says which results are one side of a comparison; what is empty chooses all.
type Chosen struct {
	Runs, Names, Hosts, Targets, Sides []string
	Versions                           map[string]string
	Since, Before                      time.Time
}

// Runs are the runs that the store knows, the newest first.
func (h *History) Runs(ctx context.Context) ([]Run, error) {
	if empty, err := h.store.Empty(); err != nil || empty {
		return nil, err
	}
	return h.store.Runs(ctx)
}

// Entries are the chosen results as one side of a comparison: of each repeat only
// the median. Each has the host as its own run saw it, with the driver of that day.
func (h *History) Entries(ctx context.Context, c Chosen) ([]compare.Entry, error) {
	if empty, err := h.store.Empty(); err != nil || empty {
		return nil, err
	}
	stored, err := h.store.Comparable(ctx, store.Filter{
		Runs: c.Runs, Names: c.Names, Hosts: c.Hosts, Targets: c.Targets, Sides: c.Sides, Versions: c.Versions, Since: c.Since, Before: c.Before,
	})
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
