package tune

import (
	"context"
	"fmt"

	"assay/internal/pages"
	"assay/internal/platform"
)

// Duel is one of the page's own ways against a stock one.
type Duel struct {
	Name  string
	Uses  []string // kernels
	Shape map[string]int
}

// Duels are all of them: Whisper's front end, and a layer in 4 bits.
func Duels() []Duel {
	return []Duel{
		{"log-mel", []string{"stft", "mel"}, map[string]int{"samples": 16000, "rate": 16000, "length": 400, "hop": 160, "bands": 80}},
		{"matmul4", []string{"matmul4"}, map[string]int{"rows": 1, "columns": 1024, "inner": 1024}},
	}
}

// OwnKernel compares a stock way with our own, at the sizes that were chosen:
// a kernel without one has its default.
func (b *Bench) OwnKernel(ctx context.Context, t platform.Target, d Duel, chosen map[string]int) Row {
	row := Row{
		What: OwnKernel, Subject: d.Name, Target: t.String(), Measure: "numbers in the page to numbers in the page",
		A: Way{Name: "stock"}, B: Way{Name: "own"},
	}
	use := map[string]int{}
	for _, name := range d.Uses {
		use[name] = DefaultSize
		if size := chosen[name]; size > 0 {
			use[name] = size
		}
		row.Notes = append(row.Notes, fmt.Sprintf("%s with workgroups of %d", name, use[name]))
	}
	var stock string
	row = b.compare(ctx, row, func(ctx context.Context, ownFirst bool) (x, y []float64, err error) {
		var told struct {
			Stock   string    `json:"stock"`
			OwnMS   []float64 `json:"own_ms"`
			StockMS []float64 `json:"stock_ms"`
		}
		call := pages.Call{Op: "duel", Limit: kernelLimit, With: map[string]any{
			"duel": d.Name, "shape": d.Shape, "workgroups": use, "rounds": rounds, "seed": seed, "stock_first": !ownFirst,
		}}
		err = b.inPage(ctx, t, func(p Page) error { return p.Ask(ctx, call, &told) })
		stock = told.Stock
		return told.StockMS, told.OwnMS, err
	})
	if stock != "" {
		row.A.Name = stock
	}
	return row.settled()
}
