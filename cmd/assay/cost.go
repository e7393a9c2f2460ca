package main

import (
	"context"

	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/store"
)

// cost is how much slower a fallback is, where the same model was ever timed on
// both sides with the same settings. What cannot be read is not known.
func (a *app) cost(asked, actual cell.Cell) *cell.Cost {
	st, err := a.store()
	if err != nil {
		return nil
	}
	from, to := a.median(st, asked), a.median(st, actual)
	if from == 0 || to == 0 {
		return nil
	}
	return &cell.Cost{Ratio: to / from, Evidence: cell.Measured}
}

// median is the median latency in ms over all measured results of a cell's
// model, size, settings and target, on whatever host; 0 is unknown. Another
// engine, device or browser of the platform says nothing of it.
func (a *app) median(st *store.Store, c cell.Cell) float64 {
	stored, err := st.Results(context.Background(), store.Filter{
		Types: []string{c.Type}, Platforms: []string{string(c.Platform)}, Sizes: []string{c.Size},
		Timings: []cell.Timing{cell.Quick, cell.Thorough}, Evidence: []cell.Evidence{cell.Measured},
	})
	if err != nil {
		return 0
	}
	var ms []float64
	for _, x := range stored {
		r := x.Result.Cell
		if x.Result.Latency != nil && r.Where().Normal() == c.Where().Normal() && r.Checkpoint == c.Checkpoint && r.Scenario == c.Scenario && r.Mode == c.Mode && r.DType == c.DType && r.Batch == c.Batch && r.Seq == c.Seq && r.Image == c.Image {
			ms = append(ms, x.Result.Latency.MedianMS)
		}
	}
	if len(ms) == 0 {
		return 0
	}
	return measure.Median(ms)
}
