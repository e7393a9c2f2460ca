package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
)

// apart says how far an engine is from what was quantised.
func apart(q *cell.Quantised) string {
	if q.LeastSNRdB != nil {
		return fmt.Sprintf("its signal-to-noise ratio against %s on the same quantised model is %s dB, less than %.0f", q.By, decibel(q.SNRdB), *q.LeastSNRdB)
	}
	return fmt.Sprintf("the output differs from %s on the dequantised weights by %s of its largest value, more than %.2g", q.By, number(q.MaxRel), q.Tolerance)
}

// weak says what is wrong with a control: the damage is too small to be sure of
// the check, or the engine does not show it as it should.
func weak(c cell.Control) string {
	switch {
	case c.Where == cell.OnEngine && c.Change == nil:
		return c.Note
	case c.Where == cell.OnEngine && c.Note != "":
		return fmt.Sprintf("%s changes the output by %s on the engine and should change it by %s: the two do not agree", c.Kind, number(c.Change), number(c.Expected))
	}
	return fmt.Sprintf("%s changes the output by only %s", c.Kind, number(c.Change))
}

// onSample says on which inputs the output is wrong, where they are not the
// first ones.
func onSample(n *cell.Numerics) string {
	if n.Sample == "" {
		return ""
	}
	return ", on inputs other than the first: " + n.Sample
}

// rescued says that only a setting other than the engine's own gave right numbers:
// who runs the model there as the engine comes gets wrong ones.
func rescued(r cell.Result) string {
	if !r.Rescued() {
		return ""
	}
	first := r.Export.WrongDefault()
	return fmt.Sprintf("with the engine's default configuration (%s) %s; they are right with %s", first.Way, first.Error, cmp.Or(r.Export.Way, "another setting"))
}

// unjudged names the outputs that are too close to zero to judge.
func unjudged(n *cell.Numerics) string {
	if n == nil || len(n.Negligible) == 0 {
		return ""
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(n.Negligible)) {
		names = append(names, fmt.Sprintf("%s (at most %.2g)", name, n.Negligible[name]))
	}
	return "too close to zero to judge: " + some(names)
}

// otherAnswers says that answers are not those of a release before.
func otherAnswers(c *cell.Changed) string {
	if c == nil || c.NotComparable != "" {
		return ""
	}
	return c.String()
}

// findings are the laws that a model breaks.
func findings(r cell.Result) string {
	var out []string
	for _, l := range r.Broken() {
		out = append(out, l.Finding())
	}
	return strings.Join(out, "; ")
}

// around names what a library made by itself: what was compared and is other
// than it should be, or what was not compared.
func around(n *cell.Numerics, unknown bool) []string {
	var out []string
	for _, row := range n.Around {
		if unknown == (row.Pass == nil) && (unknown || !*row.Pass) {
			out = append(out, row.What)
		}
	}
	return out
}

// number writes a share; nil came of NaN or infinity.
func number(x *float64) string {
	if x == nil {
		return "NaN"
	}
	return fmt.Sprintf("%.2g", *x)
}

// decibel writes a ratio; nil came of NaN or infinity.
func decibel(x *float64) string {
	if x == nil {
		return "NaN"
	}
	return fmt.Sprintf("%.1f", *x)
}
