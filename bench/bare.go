package main

import (
	"bytes"
	"context"
	_ "embed" // for the bare loop
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"assay/internal/measure"
)

//go:embed bare.py
var bareLoop string

// The ratio of Assay's median to the bare loop's must lie between these, with 1
// in its interval.
const (
	bareLo = 0.95
	bareHi = 1.05
)

// bare sets Assay's timed loop beside the same loop without Assay. Each
// alternation is one repeat by the zygote and one fresh interpreter that runs
// bare.py, in random order.
func (b *bench) bare(ctx context.Context) (findings, error) {
	r, err := b.repeater(ctx)
	if err != nil {
		return findings{}, err
	}
	p, err := b.pairs(ctx, r, b.times(32, 2))
	if err := errors.Join(err, r.close()); err != nil {
		return findings{}, err
	}
	return findings{rows: p.rows()}, nil
}

// pairs are the repeats of both sides, by alternation.
type pairs struct{ bare, ours []repeat }

func (b *bench) pairs(ctx context.Context, r *repeater, n int) (pairs, error) {
	subject, err := r.subject()
	if err != nil {
		return pairs{}, err
	}
	sides := []func() (repeat, error){
		func() (repeat, error) { return b.bareOnce(ctx, subject) },
		func() (repeat, error) { return r.once(ctx) },
	}
	var p pairs
	for i := range n {
		var pair [2]repeat
		for _, side := range b.order.Perm(2) {
			if pair[side], err = sides[side](); err != nil {
				return p, err
			}
		}
		if err := alike(pair[0], pair[1]); err != nil {
			return p, err
		}
		p.bare, p.ours = append(p.bare, pair[0]), append(p.ours, pair[1])
		b.say(fmt.Sprintf("   %d of %d: bare %.3f ms, assay %.3f ms", i+1, n, measure.Median(pair[0].SamplesMS), measure.Median(pair[1].SamplesMS)))
	}
	return p, nil
}

// bareOnce runs the bare loop in a fresh interpreter, in the user's own
// environment and not the one that Assay makes for its runner.
func (b *bench) bareOnce(ctx context.Context, subject []byte) (repeat, error) {
	out, _, err := process{path: b.env.Python, args: []string{"-c", bareLoop}, env: os.Environ(), stdin: bytes.NewReader(subject)}.run(ctx)
	if err != nil {
		return repeat{}, err
	}
	var r repeat
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("cannot parse the bare loop's answer: %w", err)
	}
	if len(r.SamplesMS) == 0 {
		return r, errors.New("the bare loop gave no samples")
	}
	return r, nil
}

// alike reports what would make the comparison unfair.
func alike(bare, ours repeat) error {
	if bare.Threads != ours.Threads || bare.Attention != ours.Attention {
		return fmt.Errorf("the sides differ: bare has %d threads and attention %s, assay %d and %s", bare.Threads, bare.Attention, ours.Threads, ours.Attention)
	}
	return nil
}

func (p pairs) rows() []Row {
	wall := measure.Compare(samples(p.bare), samples(p.ours))
	cpu := measure.Compare(single(cpuTimes(p.bare)), single(cpuTimes(p.ours)))
	n := len(p.bare)
	const enough = 30
	first := Row{
		Name: "Assay's loop over the bare loop", Bar: fmt.Sprintf("%g to %g, 1 in the interval", bareLo, bareHi),
		Measured: fmt.Sprintf("tiny %s, batch %d, threads %d: medians of %d alternations", subjectType, subjectBatch, p.ours[0].Threads, n),
		Value:    fmt.Sprintf("%s (%.3f ms over %.3f ms)", ratio(wall), wall.MedianB, wall.MedianA),
		Data:     numbers(wall), Raw: map[string][]float64{"bare_median_ms": measure.Medians(samples(p.bare)), "assay_median_ms": measure.Medians(samples(p.ours))},
		Note: "same configuration, input shapes, attention, dtype, threads, warm-up and stop rule; the bare side's weights are torch's own initialisation",
	}
	second := Row{
		Name: "the same by process CPU time", Bar: fmt.Sprintf("%g to %g", bareLo, bareHi), Measured: "per iteration, the second witness",
		Value: fmt.Sprintf("%s (%.3f ms over %.3f ms)", ratio(cpu), cpu.MedianB, cpu.MedianA),
		Data:  numbers(cpu), Raw: map[string][]float64{"bare_cpu_ms": cpuTimes(p.bare), "assay_cpu_ms": cpuTimes(p.ours)},
	}
	return []Row{first.judge(within(wall) && holdsOne(wall), n >= enough), second.judge(within(cpu), n >= enough)}
}

func within(c measure.Comparison) bool { return c.Ratio >= bareLo && c.Ratio <= bareHi }

func holdsOne(c measure.Comparison) bool {
	return c.Lo != nil && c.Hi != nil && *c.Lo <= 1 && *c.Hi >= 1
}

func numbers(c measure.Comparison) map[string]float64 {
	out := map[string]float64{"ratio": c.Ratio, "bare_ms": c.MedianA, "assay_ms": c.MedianB}
	for name, v := range map[string]*float64{"ratio_lo": c.Lo, "ratio_hi": c.Hi, "p": c.P} {
		if v != nil {
			out[name] = *v
		}
	}
	return out
}

func samples(repeats []repeat) [][]float64 {
	out := make([][]float64, len(repeats))
	for i, r := range repeats {
		out[i] = r.SamplesMS
	}
	return out
}

func cpuTimes(repeats []repeat) []float64 {
	out := make([]float64, len(repeats))
	for i, r := range repeats {
		out[i] = r.CPUMSPerIter
	}
	return out
}
