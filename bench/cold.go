package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/measure"
)

const (
	coldBar    = 1.5
	furtherBar = 0.6 // seconds
)

// bareImport is what any Python program with a model has to do first.
const bareImport = "import torch; from transformers import BertModel"

// cold compares one whole `assay bench --quick bert` with the bare imports in
// the same Python plus the seconds that the bench itself timed; and the same
// bench of several models with that of one, for what each further cell costs.
// The three take turns in random order.
func (b *bench) cold(ctx context.Context) (findings, error) {
	t := &turns{bench: b, several: []string{"--key"}}
	if b.quick {
		t.several = []string{"bert", "t5", "vit"}
	}
	if err := t.warm(ctx); err != nil {
		return findings{}, err
	}
	for i := range b.times(measure.MinRepeats, 2) {
		if err := t.turn(ctx); err != nil {
			return findings{}, err
		}
		b.say(fmt.Sprintf("   turn %d: imports %.1f s, one cell %.1f s, further cells %.2f s each", i+1, last(t.imports), last(t.one), last(t.further)))
	}
	return findings{rows: []Row{t.coldRow(), t.furtherRow()}}, nil
}

// turns is the alternation under way. All slices are seconds, one per turn.
type turns struct {
	*bench
	several []string
	target  []string // nothing, or what keeps a machine with a GPU on its CPU

	imports []float64 // the bare imports
	one     []float64 // bench of one cell, whole
	timed   []float64 // of it, the timed iterations
	further []float64 // each further cell, without its timed iterations
	cells   int       // of the bench of several
}

// warm brings the files of both sides into memory and sees where the platform
// "auto" goes.
func (t *turns) warm(ctx context.Context) error {
	if _, err := t.bareImports(ctx); err != nil {
		return err
	}
	r, _, err := t.report(ctx, "bench", "--quick", "bert")
	if err == nil && r.Results[0].Cell.Platform != "cpu" {
		t.target = []string{"--platform", "cpu"}
	}
	return err
}

func (t *turns) turn(ctx context.Context) error {
	var imports float64
	var one, several benched
	steps := []func() error{
		func() (err error) { imports, err = t.bareImports(ctx); return err },
		func() (err error) { one, err = t.benched(ctx, "bert"); return err },
		func() (err error) { several, err = t.benched(ctx, t.several...); return err },
	}
	t.order.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if several.cells < 2 {
		return fmt.Errorf("only %d of the cells of bench --quick %s could be timed", several.cells, strings.Join(t.several, " "))
	}
	t.imports, t.one, t.timed = append(t.imports, imports), append(t.one, one.wall), append(t.timed, one.timed)
	t.cells = several.cells
	t.further = append(t.further, further(one, several))
	return nil
}

// benched is one whole bench.
type benched struct {
	wall, timed float64 // seconds
	cells       int
}

// further is what each cell of several beyond the first costs beside its
// timed iterations.
func further(one, several benched) float64 {
	return ((several.wall - several.timed) - (one.wall - one.timed)) / float64(several.cells-1)
}

func (t *turns) benched(ctx context.Context, models ...string) (benched, error) {
	r, wall, err := t.report(ctx, slices.Concat([]string{"bench", "--quick"}, t.target, models)...)
	timed := slices.DeleteFunc(r.Results, func(r cell.Result) bool { return r.Latency == nil })
	return benched{wall.Seconds(), timedSeconds(r), len(timed)}, err
}

func (t *turns) bareImports(ctx context.Context) (float64, error) {
	_, wall, err := process{path: t.env.Python, args: []string{"-c", bareImport}, env: os.Environ()}.run(ctx)
	return wall.Seconds(), err
}

func (t *turns) coldRow() Row {
	against := make([]float64, len(t.imports))
	for i := range against {
		against[i] = t.imports[i] + t.timed[i]
	}
	c := measure.Compare(single(against), single(t.one))
	row := Row{
		Name: "one cold bench", Bar: fmt.Sprintf("≤ %g ×", coldBar),
		Measured: fmt.Sprintf("assay bench --quick bert, whole, over `%s` and the timed seconds; %d turns", bareImport, len(t.one)),
		Value:    fmt.Sprintf("%s (%.1f s over %.1f s)", ratio(c), c.MedianB, c.MedianA),
		Data:     map[string]float64{"ratio": c.Ratio, "assay_s": c.MedianB, "bare_s": measure.Median(t.imports), "timed_s": measure.Median(t.timed)},
		Raw:      map[string][]float64{"assay_s": t.one, "imports_s": t.imports, "timed_s": t.timed},
	}
	return row.judge(c.Ratio <= coldBar, len(t.one) >= 5)
}

func (t *turns) furtherRow() Row {
	median := measure.Median(t.further)
	row := Row{
		Name: "each further cell", Bar: fmt.Sprintf("≤ %g s", furtherBar),
		Measured: fmt.Sprintf("bench --quick %s (%d cells) less bench --quick bert, both without their timed iterations; %d turns", strings.Join(t.several, " "), t.cells, len(t.further)),
		Value:    fmt.Sprintf("%.2f s (%.2f to %.2f)", median, slices.Min(t.further), slices.Max(t.further)),
		Data:     map[string]float64{"median_s": median}, Raw: map[string][]float64{"further_s": t.further},
	}
	return row.judge(median <= furtherBar, len(t.further) >= 5)
}

// single makes each value a repeat of its own.
func single(values []float64) [][]float64 {
	out := make([][]float64, len(values))
	for i, v := range values {
		out[i] = []float64{v}
	}
	return out
}

// ratio is a comparison's ratio with its interval.
func ratio(c measure.Comparison) string {
	if c.Lo == nil || c.Hi == nil {
		return fmt.Sprintf("%.3f", c.Ratio)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", c.Ratio, *c.Lo, *c.Hi)
}

func last(values []float64) float64 { return values[len(values)-1] }
