package history

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/cell"
)

// BenchmarkUnfinished: what resuming a sweep costs where this host has 4,000
// results, of the size that results have, and everything is done.
func BenchmarkUnfinished(b *testing.B) {
	const cells = 4000
	h := newHistory(b)
	var plan cell.Plan
	results := make([]cell.Result, cells)
	for i := range results {
		c := cell.Cell{Type: fmt.Sprintf("type%d", i/8), Batch: 1 + i%8}.Normal()
		plan.Cells = append(plan.Cells, c)
		results[i] = result(c, i, func(r *cell.Result) {
			r.Outputs = []cell.Output{{Name: "logits", Shape: []int{1, 16, 256}, DType: "float32"}}
			r.PhasesMS = map[string]float64{"import": 4000, "build": 12.5, "to_device": 0.25, "first": 3, "warmup": 9}
			r.Note = strings.Repeat("what a child said of itself, ", 60)
			if i%10 == 0 {
				failing(cell.Crash)(r)
				r.Failure.Log = strings.Repeat("Traceback (most recent call last): File \"x.py\", line 1\n", 600)
			}
		})
	}
	write(b, h, "a", host, results...)
	here := Here{Host: host, Versions: versions, Content: noContent}
	ask := func() {
		if left, err := h.Unfinished(b.Context(), plan, here); err != nil || len(left.Cells) > 0 {
			b.Fatalf("%d cells are left, %v", len(left.Cells), err)
		}
	}
	ask() // loads the journal, which whoever asks first has to wait for
	for b.Loop() {
		ask()
	}
}
