package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"assay/internal/cell"
)

// ranksBar is how well --quick must rank models as the full mode does.
const ranksBar = 0.95

// ranks benches the key models with --quick and in full, and compares in which
// order the two put them: the rank correlation of their medians.
func (b *bench) ranks(ctx context.Context) (findings, error) {
	models := []string{"--key"}
	if b.quick {
		models = []string{"bert", "vit", "resnet"}
	}
	asked := append([]string{"bench", "--platform", "cpu", "--size", "tiny"}, models...)
	quick, _, err := b.failing(ctx, append(slices.Clone(asked), "--quick")...)
	if err != nil {
		return findings{}, err
	}
	full, _, err := b.failing(ctx, append(slices.Clone(asked), b.brief()...)...)
	if err != nil {
		return findings{}, err
	}
	names, x, y, unstable := paired(quick.Results, full.Results)
	if len(names) < 3 {
		return findings{}, fmt.Errorf("only %d models were timed both ways: there is no order to compare", len(names))
	}
	rho := spearman(x, y)
	row := Row{
		Name: "--quick ranks as the full mode does", Bar: fmt.Sprintf("≥ %.2f", ranksBar),
		Measured: fmt.Sprintf("rank correlation of the medians of %d models, tiny, on the CPU", len(names)),
		Value:    fmt.Sprintf("%.3f", rho),
		Data:     map[string]float64{"models": float64(len(names)), "rank_correlation": rho, "unstable": float64(unstable)},
		Raw:      map[string][]float64{"quick_ms": x, "full_ms": y},
	}
	if unstable > 0 {
		row.Note = fmt.Sprintf("%d of %d times were unstable", unstable, 2*len(names))
	}
	return findings{rows: []Row{row.judge(rho >= ranksBar, !b.quick)}}, nil
}

// brief shortens the full mode where only a try-out was asked for.
func (b *bench) brief() []string {
	if b.quick {
		return []string{"--repeats", "1"}
	}
	return nil
}

// paired are the medians of the cells that both have, in the order of their
// types, and how many times are unstable.
func paired(quick, full []cell.Result) (names []string, x, y []float64, unstable int) {
	by := map[string]cell.Result{}
	for _, r := range quick {
		if r.Latency != nil {
			by[r.Cell.Hash] = r
		}
	}
	slices.SortFunc(full, func(a, b cell.Result) int { return cmp.Compare(a.Cell.Type, b.Cell.Type) })
	for _, r := range full {
		q, ok := by[r.Cell.Hash]
		if r.Latency == nil || !ok {
			continue
		}
		names = append(names, r.Cell.Type)
		x, y = append(x, q.Latency.MedianMS), append(y, r.Latency.MedianMS)
		unstable += count(!q.Latency.Stable) + count(!r.Latency.Stable)
	}
	return names, x, y, unstable
}

// spearman is the correlation of the ranks of two rows of numbers.
func spearman(x, y []float64) float64 {
	a, b := ranksOf(x), ranksOf(y)
	mean := float64(len(a)+1) / 2
	var xy, xx, yy float64
	for i := range a {
		dx, dy := a[i]-mean, b[i]-mean
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// ranksOf are the places of numbers in their order, from 1; equals share theirs.
func ranksOf(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		below, equal := 0, 0
		for _, w := range x {
			below += count(w < v)
			equal += count(w == v)
		}
		out[i] = float64(below) + float64(equal+1)/2
	}
	return out
}
