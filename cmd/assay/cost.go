package main

import (
	"context"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/store"
)

// past are the times that a host has of a plan's models, the newest first: what
// a fallback costs is computed from them. A database that others use is not
// waited for long.
func (a *app) past(ctx context.Context, host string, plan cell.Plan) ([]lab.Known, error) {
	if there, err := a.anyResults(); err != nil || !there {
		return nil, err
	}
	st, err := a.store()
	if err != nil {
		return nil, err
	}
	st.Wait = storeWait
	filter := store.Filter{
		Hosts: []string{host}, Timings: []cell.Timing{cell.Quick, cell.Thorough},
		Evidence: []cell.Evidence{cell.Measured}, Verdicts: []cell.Verdict{cell.Works, cell.Partial},
	}
	for _, c := range plan.Cells {
		filter.Types = append(filter.Types, c.Type)
	}
	stored, err := st.Results(ctx, filter)
	if err != nil {
		return nil, err
	}
	var out []lab.Known
	for _, x := range stored {
		r := x.Result
		// What was not synchronised is the time of handing work over, and what ran in company that of a share.
		if r.Latency != nil && r.Latency.Sync == "" && r.Latency.MedianMS > 0 && r.Cell.Scenario == "" && r.SubjectHash != "" {
			out = append(out, lab.Known{Cell: r.Cell, Subject: r.SubjectHash, MedianMS: r.Latency.MedianMS, Unstable: !r.Latency.Stable})
		}
	}
	return out, nil
}
