package measure

import (
	"fmt"
	"math"
	"strings"
)

// The limits of a stable cell. They are habits, not laws: a quiet machine stays
// far below them, a laptop that throttles or a shared host does not.
const (
	maxWithin  = 0.10 // relative deviation inside a repeat
	maxBetween = 0.05 // relative deviation of the repeats' medians
	maxDrift   = 0.10 // last third of a repeat against its first
)

// leastForDrift is the fewest iterations a repeat needs before its thirds are
// compared: each third's median then rests on five values or more.
const leastForDrift = 15

// stability says whether the spread and the drift allow a reader to take the
// median at its word, and if not, why.
func stability(s Summary, drift *float64) (stable bool, why string) {
	var reasons []string
	if s.CVBetween == nil {
		reasons = append(reasons, "one repeat: the spread between repeats is unknown")
	}
	for _, check := range []struct {
		value *float64
		limit float64
		text  string
	}{
		{s.CVBetween, maxBetween, "spread between repeats"},
		{s.CVWithin, maxWithin, "spread within repeats"},
		{drift, maxDrift, "drift within repeats"},
	} {
		if check.value != nil && math.Abs(*check.value) > check.limit {
			reasons = append(reasons, fmt.Sprintf("%s %.0f %% (limit %.0f %%)", check.text, 100**check.value, 100*check.limit))
		}
	}
	return len(reasons) == 0, strings.Join(reasons, "; ")
}

// drift returns how much slower (or, below zero, faster) the last third of a
// repeat was than its first, as the median over the repeats that are long
// enough; nil when none is. It sees what a warm-up cut short or a core that
// heats up leaves behind.
func drift(repeats [][]float64) *float64 {
	var changes []float64
	for _, r := range repeats {
		if len(r) < leastForDrift {
			continue
		}
		third := len(r) / 3
		if first := Median(r[:third]); first != 0 {
			changes = append(changes, Median(r[len(r)-third:])/first-1)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	v := Median(changes)
	return &v
}
