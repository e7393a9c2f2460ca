package main

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/measure"
)

const sameBar = 0.10 // of the tries may see a difference that is not there

// same compares a cell with itself again and again: two sets of repeats, both
// as many as bench makes, interleaved. A test at 5 % that is sound says
// "different" in about 5 % of the tries.
func (b *bench) same(ctx context.Context) (findings, error) {
	r, err := b.repeater(ctx)
	if err != nil {
		return findings{}, err
	}
	const full = 40
	tries := b.times(full, 2)
	var ps []float64
	for i := range tries {
		var p float64
		if p, err = b.try(ctx, r); err != nil {
			break
		}
		ps = append(ps, p)
		b.say(fmt.Sprintf("   try %d of %d: p = %.3f", i+1, tries, p))
	}
	if err := errors.Join(err, r.close()); err != nil {
		return findings{}, err
	}
	seen := differing(ps)
	share := float64(seen) / float64(len(ps))
	row := Row{
		Name: "A against A", Bar: fmt.Sprintf("≤ %.0f %% of %d", 100*sameBar, full),
		Measured: fmt.Sprintf("tiny %s, batch %d: two interleaved sets of %d repeats, compared", subjectType, subjectBatch, measure.MinRepeats),
		Value:    fmt.Sprintf("p < 0.05 in %d of %d (%.1f %%)", seen, len(ps), 100*share),
		Data:     map[string]float64{"tries": float64(len(ps)), "differing": float64(seen), "share": share}, Raw: map[string][]float64{"p": ps},
	}
	return findings{rows: []Row{row.judge(share <= sameBar, len(ps) >= full)}}, nil
}

// try is one comparison of the subject with itself; its p-value.
func (b *bench) try(ctx context.Context, r *repeater) (float64, error) {
	var sides [2][][]float64
	for range measure.MinRepeats {
		for _, side := range b.order.Perm(2) {
			one, err := r.once(ctx)
			if err != nil {
				return 0, err
			}
			sides[side] = append(sides[side], one.SamplesMS)
		}
	}
	c := measure.Compare(sides[0], sides[1])
	if c.P == nil {
		return 0, errors.New("two sets of repeats could not be compared")
	}
	return *c.P, nil
}

func differing(ps []float64) int {
	n := 0
	for _, p := range ps {
		if p < 1-measure.Confidence {
			n++
		}
	}
	return n
}
