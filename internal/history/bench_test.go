package history

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/compare"
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

// BenchmarkSweeps: two sweeps of 781 models on 8 targets, timed, as the two sides
// of a comparison: what reading them costs, and what comparing does.
func BenchmarkSweeps(b *testing.B) {
	h := newHistory(b)
	for side, run := range []string{"a", "b"} {
		write(b, h, run, host, sweep(side)...)
	}
	ask := func() []compare.Entry {
		var sides [2][]compare.Entry
		for i, run := range []string{"a", "b"} {
			list, err := h.Entries(b.Context(), Chosen{Runs: []string{run}})
			must(b, err)
			sides[i] = list
		}
		r := compare.Compare(compare.Side{Entries: sides[0]}, compare.Side{Entries: sides[1]}, compare.Options{})
		if r.Compared != 781*8 {
			b.Fatalf("%d cells were compared", r.Compared)
		}
		return sides[0]
	}
	ask()
	for b.Loop() {
		ask()
	}
}

// sweep are results of the size that results have: six repeats of thirty samples.
func sweep(side int) []cell.Result {
	var out []cell.Result
	for i := range 781 * 8 {
		target := []string{"cpu", "cpu/onnxruntime", "cuda", "rocm", "mps", "openvino", "webnn", "webgpu"}[i%8]
		c := cell.Cell{Type: fmt.Sprintf("type%d", i/8), Target: target}
		out = append(out, result(c, side, timed(10), func(r *cell.Result) {
			r.Outputs = []cell.Output{{Name: "logits", Shape: []int{1, 16, 256}, DType: "float32"}, {Name: "hidden", Shape: []int{1, 16, 64}, DType: "float32"}}
			r.PhasesMS = map[string]float64{"import": 4000, "build": 12.5, "to_device": 0.25, "first": 3, "warmup": 9}
			r.Numerics = &cell.Numerics{Tolerance: 1e-5, Reference: "float64 on cpu", Pass: true}
			r.Latency.Repeats, r.Latency.N, r.Latency.SamplesMS = 6, 180, nil
			for k := range 6 {
				var ms []float64
				for n := range 30 {
					ms = append(ms, 10+0.01*float64((i+k*7+n*3+side)%11))
				}
				r.Latency.SamplesMS = append(r.Latency.SamplesMS, ms)
			}
			if i%10 == 0 {
				r.Note = strings.Repeat("what a child said of itself, ", 60)
			}
		}))
	}
	return out
}
