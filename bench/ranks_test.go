package main

import (
	"math"
	"testing"

	"assay/internal/cell"
)

func TestSpearman(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		x, y []float64
		want float64
	}{
		"the same order":   {[]float64{1, 2, 3, 4}, []float64{10, 20, 30, 400}, 1},
		"the other way":    {[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1},
		"two changed":      {[]float64{1, 2, 3, 4, 5}, []float64{2, 1, 3, 4, 5}, 0.9},
		"equals":           {[]float64{1, 1, 2}, []float64{1, 1, 2}, 1},
		"nothing to order": {[]float64{1, 1, 1}, []float64{1, 2, 3}, 0},
	} {
		if got := spearman(tc.x, tc.y); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", name, got, tc.want)
		}
	}
}

// TestPaired: only what was timed both ways, whatever the order.
func TestPaired(t *testing.T) {
	t.Parallel()
	timed := func(name string, ms float64, stable bool) cell.Result {
		return cell.Result{Cell: cell.Cell{Type: name}.Normal(), Latency: &cell.Latency{MedianMS: ms, Stable: stable}}
	}
	quick := []cell.Result{timed("vit", 2, true), timed("bert", 1, false), timed("t5", 9, true)}
	full := []cell.Result{timed("bert", 1.1, true), timed("vit", 2.1, true), {Cell: cell.Cell{Type: "t5"}.Normal()}}
	names, x, y, unstable := paired(quick, full)
	if len(names) != 2 || names[0] != "bert" || x[0] != 1 || y[1] != 2.1 || unstable != 1 {
		t.Errorf("%v %v %v, %d unstable", names, x, y, unstable)
	}
}
