package main

import (
	"context"

	"assay/internal/cell"
	"assay/internal/lab"
)

// past are the times from which the lab computes what a fallback costs.
func (a *app) past(ctx context.Context, host string, plan cell.Plan) ([]lab.Known, error) {
	h, err := a.history()
	if err != nil {
		return nil, err
	}
	times, err := h.Times(ctx, host, plan)
	out := make([]lab.Known, len(times))
	for i, t := range times {
		out[i] = lab.Known(t)
	}
	return out, err
}
