package history

import (
	"context"

	"assay/internal/cell"
	"assay/internal/store"
)

// Times are those that a host has of a plan's model types, the newest first: what
// a fallback costs is computed from them. A store that is in use is waited for
// only briefly.
func (h *History) Times(ctx context.Context, host string, plan cell.Plan) ([]cell.Time, error) {
	stored, err := h.brief().results(ctx, store.Filter{
		Hosts: []string{host}, Types: types(plan), Timings: []cell.Timing{cell.Quick, cell.Thorough},
		Evidence: []cell.Evidence{cell.Measured}, Verdicts: []cell.Verdict{cell.Works, cell.Partial},
	})
	if err != nil {
		return nil, err
	}
	var out []cell.Time
	for _, x := range stored {
		r := x.Result
		// What was not synchronised is the time of handing work over, and what ran in company that of a share.
		if r.Latency != nil && r.Latency.Sync == "" && r.Latency.MedianMS > 0 && r.Cell.Scenario == "" && r.SubjectHash != "" {
			out = append(out, cell.Time{Cell: r.Cell, Subject: r.SubjectHash, MedianMS: r.Latency.MedianMS, Unstable: !r.Latency.Stable})
		}
	}
	return out, nil
}
