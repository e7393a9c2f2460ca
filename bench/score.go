package main

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/cell"
)

// score is how well failures were derived on one platform or engine in one dtype.
type score struct {
	name, dtype   string
	cells         int
	failing       int // measured: support is lacking
	said          int // derived to fail
	right         int // both
	silent        int // no verdict could be derived
	silentFailing int // and the run failed
	wrongNumbers  int // ran, and its output was wrong: not for tables to know
	wrong         [][]string
}

// scored sums trials up by whose list decided and by dtype.
func scored(trials []trial) []score {
	var out []score
	for _, t := range trials {
		c := t.measured.Cell
		i := slices.IndexFunc(out, func(s score) bool { return s.name == derivedAs(c) && s.dtype == string(c.DType) })
		if i < 0 {
			i, out = len(out), append(out, score{name: derivedAs(c), dtype: string(c.DType)})
		}
		out[i].add(t)
	}
	slices.SortFunc(out, func(a, b score) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(b.dtype, a.dtype))
	})
	return out
}

func (s *score) add(t trial) {
	fails, said, silent := t.support(), t.derived.Verdict == cell.Fails, t.derived.Verdict == ""
	s.cells++
	s.failing += count(fails)
	s.said += count(said)
	s.right += count(fails && said)
	s.silent += count(silent)
	s.silentFailing += count(fails && silent)
	s.wrongNumbers += count(t.measured.Failure != nil && t.measured.Failure.Class == cell.WrongOutput)
	if fails != said && !silent {
		c := t.measured.Cell
		s.wrong = append(s.wrong, []string{c.Type + " " + c.Target + " " + string(c.DType), string(t.derived.Verdict), string(t.measured.Verdict), t.reason()})
	}
}

// reason is the measured failure's, else the derived one's.
func (t trial) reason() string {
	switch {
	case t.measured.Failure != nil:
		return t.measured.Failure.Detail
	case len(t.derived.Operators) > 0:
		return t.derived.Operators[0].Operator + ": " + t.derived.Operators[0].Why
	}
	return t.derived.Why
}

// row sets the method beside saying that everything works: that is never wrong
// about a failure, and finds none.
func (s score) row() Row {
	missed, falsely := s.failing-s.right, s.said-s.right
	always := share(s.cells-s.failing, s.cells)
	accuracy := share(s.cells-missed-falsely, s.cells)
	return Row{
		Name:     fmt.Sprintf("derived on %s, %s", s.name, s.dtype),
		Measured: fmt.Sprintf("%d tiny models that ran, %d of them not supported", s.cells, s.failing),
		Value: fmt.Sprintf("failures: precision %s, recall %s; right in %.1f %% of cells, \"always works\" in %.1f %%",
			outOf(s.right, s.said), outOf(s.right, s.failing), 100*accuracy, 100*always),
		Note: fmt.Sprintf("%d without a verdict (%d of them fail) count as not said to fail; %d more ran with wrong numbers, which no table predicts", s.silent, s.silentFailing, s.wrongNumbers),
		Data: map[string]float64{"cells": float64(s.cells), "failing": float64(s.failing), "said": float64(s.said), "right": float64(s.right), "silent": float64(s.silent)},
	}
}

func outOf(part, whole int) string {
	if whole == 0 {
		return "– (0 of 0)"
	}
	return fmt.Sprintf("%.2f (%d of %d)", share(part, whole), part, whole)
}
