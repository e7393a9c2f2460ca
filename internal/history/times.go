package history

import (
	"context"

	"assay/internal/cell"
	"assay/internal/store"
)

// Time is how long a cell took.
type Time struct {
	Cell     cell.Cell
	Subject  string // what ran: only the same one may be compared
	MedianMS float64
	Unstable bool
}

// Times are those that a host has of a plan's model types, the newest first: what
// a fallback costs is computed from them. A store that is in use is waited for
// only briefly.
func (h *History) Times(ctx context.Context, host string, plan cell.Plan) ([]Time, error) {
	stored, err := h.brief().results(ctx, store.Filter{
		Hosts: []string{host}, Types: types(plan), Timings: []cell.Timing{cell.Quick, cell.Thorough},
		Evidence: []cell.Evidence{cell.Measured}, Verdicts: []cell.Verdict{cell.Works, cell.Partial},
	})
	if err != nil {
		return nil, err
	}
	var out []Time
	for _, x := range stored {
		r := x.Result
		// What was not synchronised is the time of handing work over, and what ran in company that of a share.
		if r.Latency != nil && r.Latency.Sync == "" && r.Latency.MedianMS > 0 && r.Cell.Scenario == "" && r.SubjectHash != "" {
			out = append(out, Time{r.Cell, r.SubjectHash, r.Latency.MedianMS, !r.Latency.Stable})
		}
	}
	return out, nil
}
