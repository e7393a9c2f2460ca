// Package measure turns raw samples into statements that can be defended:
// summaries, stability verdicts and comparisons.
//
// The unit of statistics is the repeat, a fresh process, never the iteration.
// Iterations of one process are correlated (the allocator's luck, the page
// layout, the clock the core settled on), so a thousand of them hold
// little more information than one. Every function here therefore takes
// samples as one list for each repeat, reduces each repeat to its median, and
// draws intervals and tests from those medians alone. Iterations are pooled
// only for tail percentiles, which describe what a user of that process sees
// and claim nothing about the next one.
//
// The parts build on each other. A Rule says when a repeat may stop. Summarise
// folds the repeats of one cell into a Summary, whose stability verdict is
// information and never an error. Compare compares two cells: the
// ratio of medians, an interval of the ratio, and a p-value. Nothing there assumes a
// distribution: intervals come from order statistics, the p-value from the
// exact U test. Where many cells are compared, Screen picks those worth running
// again, Adjusted corrects p-values for their number, and Confirmed says what fresh
// repeats bear out. Steps finds where a history of medians changed its level. What cannot be known is nil, and what a reader should be warned
// of is in words beside the number.
//
// The package knows nothing about models or machines. Units are the caller's:
// every statistic has the unit of the samples, ratios have none.
package measure

import "math"

// MinRepeats is the fewest repeats from which an interval is shown. With six,
// the smallest and the largest median hold the true one with 96.9 % confidence;
// with five, no two order statistics reach 95 %.
const MinRepeats = 6

// Confidence is that of every interval; 1 − Confidence is the level below which
// a p-value speaks of a difference.
const Confidence = 0.95

// Rule says how long one repeat goes on: until both the least time and the
// least count are reached, and never beyond the hard maximum.
type Rule struct {
	MinS    float64 // seconds
	MinN    int     // iterations
	MaxS    float64 // seconds; 0 means the count alone decides
	Repeats int     // fresh processes
}

// Rules returns the stop rules by the timing's name: "test" runs once and times
// nothing, "quick" is for a first look, "full" for numbers that are published.
func Rules() map[string]Rule {
	return map[string]Rule{
		"test":  {MinN: 1, Repeats: 1},
		"quick": {MinS: 0.2, MinN: 10, MaxS: 5, Repeats: 3},
		"full":  {MinS: 1, MinN: 64, MaxS: 60, Repeats: MinRepeats},
	}
}

// Summary is what the repeats of one cell say together.
type Summary struct {
	Repeats int // those that have samples
	N       int // iterations over all repeats
	// Median is the median of the repeats' medians.
	Median float64
	// Lo and Hi hold the true median with Confidence; nil with fewer than
	// MinRepeats repeats.
	Lo, Hi   *float64
	Min, Max float64 // of all iterations
	// P90, P95 and P99 are percentiles of the pooled iterations; nil when
	// there are too few of them.
	P90, P95, P99 *float64
	// CVWithin is the deviation (n−1) inside a repeat over its mean, pooled
	// over repeats; nil when no repeat has two iterations.
	CVWithin *float64
	// CVBetween is the deviation (n−1) of the repeats' medians over their
	// mean; nil with one repeat.
	CVBetween *float64
	Stable    bool
	Why       string // why it is not stable; "" when it is
}

// Summarise folds samples, one list a repeat, into a Summary. Empty repeats are
// left out; with no samples at all the Summary's N is 0 and its numbers are NaN.
func Summarise(samples [][]float64) Summary {
	repeats := withSamples(samples)
	if len(repeats) == 0 {
		nan := math.NaN()
		return Summary{Median: nan, Min: nan, Max: nan, Why: "no samples"}
	}
	pooled := pool(repeats)
	medians := Medians(repeats)
	s := Summary{
		Repeats:   len(repeats),
		N:         len(pooled),
		Median:    Median(medians),
		Min:       pooled[0],
		Max:       pooled[len(pooled)-1],
		P90:       percentile(pooled, 0.90),
		P95:       percentile(pooled, 0.95),
		P99:       percentile(pooled, 0.99),
		CVWithin:  cvWithin(repeats),
		CVBetween: cv(medians),
	}
	s.Lo, s.Hi = medianInterval(medians)
	s.Stable, s.Why = stability(s, drift(repeats))
	return s
}
