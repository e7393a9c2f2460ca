// Package plots draws what was measured as SVG files: latency by target, speed-up
// over the CPU, memory, scaling with the batch, decoding rates, and trends with
// their steps.
//
// Of chooses the numbers of each plot from results, by the same rules as the
// matrix: times only from timed runs on a real device, a speed-up only from two
// such runs of one subject on one machine. A plot without numbers is not drawn.
// A ~ and a hatched bar mark times whose repeats differ too much.
//
//	plots.go   which numbers each plot shows
//	svg.go     the frame of a drawing, its style and its scales
//	bars.go    horizontal bars with intervals
//	heat.go    a heat map of ratios
//	lines.go   lines over batches
//	trends.go  histories of cells, with levels and steps
//
// Text stays text, colours have both schemes, and nothing depends on them.
package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/report"
	"assay/internal/trend"
)

// Plot is a file.
type Plot struct {
	Name string // latency.svg
	SVG  []byte
}

// most is how many bars or rows a plot has; it says of how many they are.
const most = 40

// Of are the plots of some results and their histories, without those that
// would be empty.
func Of(observations []matrix.Observation, series []trend.Series) []Plot {
	observations = matrix.OfModels(observations)
	m := matrix.Fold(observations, matrix.Options{})
	var out []Plot
	add := func(name, svg string) {
		if svg != "" {
			out = append(out, Plot{name, []byte(svg)})
		}
	}
	add("latency.svg", bars("Median latency by target", latencies(m), report.Milliseconds))
	add("speedup.svg", heat("Speed-up over the CPU of the same machine", speedups(m)))
	add("memory.svg", bars("Peak memory by target", memory(m), func(v float64) string { return report.Bytes(int64(v)) }))
	add("batch.svg", lines("Items a second by batch", "batch", batches(observations), count))
	add("decode.svg", bars("Tokens a second", decodes(observations), count))
	add("trend.svg", histories(series))
	return out
}

// count is a number of things a second.
func count(v float64) string {
	if v >= 100 {
		return report.Count(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func label(r matrix.Row, target string) string { return matrix.Name(r.Model) + " · " + target }

func latencies(m matrix.Matrix) []bar {
	var out []bar
	for _, r := range m.Rows {
		for _, s := range r.Squares {
			if l := s.Latency; l != nil {
				out = append(out, bar{label: label(r, l.Target), value: l.MedianMS, lo: l.LoMS, hi: l.HiMS, shaky: !l.Stable, note: fmt.Sprintf("%s, batch %d", l.DType, l.Batch)})
			}
		}
	}
	return out
}

func memory(m matrix.Matrix) []bar {
	var out []bar
	for _, r := range m.Rows {
		for _, s := range r.Squares {
			if p := s.Peak; p != nil {
				out = append(out, bar{label: label(r, p.Target), value: float64(p.Bytes), note: "on the " + p.Where})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b bar) int { return cmp.Compare(b.value, a.value) })
	return out
}

func speedups(m matrix.Matrix) []square {
	var out []square
	for _, r := range m.Rows {
		for _, s := range r.Squares {
			if u := s.Speedup; u != nil {
				out = append(out, square{matrix.Name(r.Model), u.Target, u.Ratio, !u.Stable})
			}
		}
	}
	return out
}

// batches are lines of items a second, where a cell was timed with two batches.
func batches(observations []matrix.Observation) []line {
	type key struct{ name, host string }
	points := map[key]map[float64]float64{}
	for _, x := range observations {
		if !matrix.Timed(x.Result) || x.Cell.Mode != cell.Infer || x.Latency.MedianMS <= 0 || x.Cell.Scenario != "" {
			continue
		}
		k := key{fmt.Sprintf("%s · %s %s", matrix.Name(cmp.Or(matrix.ModelOf(x.Cell).Checkpoint, x.Cell.Type)), x.Cell.Target, x.Cell.DType), x.Host}
		if points[k] == nil {
			points[k] = map[float64]float64{}
		}
		b := float64(max(1, x.Cell.Batch))
		points[k][b] = 1e3 * b / x.Latency.MedianMS
	}
	var out []line
	for k, of := range points {
		if len(of) < 2 {
			continue
		}
		l := line{name: k.name}
		for b, v := range of {
			l.points = append(l.points, point{b, v})
		}
		slices.SortFunc(l.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return out
}

// decodes are the newest rates of generation.
func decodes(observations []matrix.Observation) []bar {
	var out []bar
	seen := map[string]bool{}
	list := slices.Clone(observations)
	slices.SortStableFunc(list, func(a, b matrix.Observation) int { return b.StartedAt.Compare(a.StartedAt) })
	for _, x := range list {
		g := x.Generation
		if g == nil || g.TokensPerS == nil || x.Evidence != cell.Measured {
			continue
		}
		name := fmt.Sprintf("%s · %s %s", matrix.Name(cmp.Or(matrix.ModelOf(x.Cell).Checkpoint, x.Cell.Type)), x.Cell.Target, x.Cell.DType)
		if seen[name+x.Host] {
			continue
		}
		seen[name+x.Host] = true
		out = append(out, bar{label: name, value: *g.TokensPerS, shaky: x.Latency != nil && !x.Latency.Stable, note: fmt.Sprintf("%d tokens", g.NewTokens)})
	}
	slices.SortStableFunc(out, func(a, b bar) int { return strings.Compare(a.label, b.label) })
	return out
}
