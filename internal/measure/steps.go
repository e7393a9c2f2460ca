package measure

import (
	"math"
	"slices"
)

// Step is a place in a history where the level changed.
type Step struct {
	// At is the first value of the new level: the step lies between At−1 and At.
	At int
	// Before and After are the medians of the levels on either side, and Ratio is
	// After over Before.
	Before, After, Ratio float64
}

// The search for steps.
const (
	// shortest is how many values a level has at least: a lone slow run is no step,
	// and one is known three runs after it began.
	shortest = 3
	// mostSteps bounds the search.
	mostSteps = 12
	// strongest is the largest correlation of neighbours that is believed: one of 1
	// would explain every step away.
	strongest = 0.8
	// price is what a step costs in the criterion, in units of log n: where it is, how
	// high it is, and the number of places that were tried.
	price = 4.0
	// spent is how many values the level, the noise and its correlation take up.
	spent = 3.0
	// finest is the least noise that is assumed, as a share: clocks and rounding have
	// some, and a history without any would make a step of a nanosecond.
	finest = 0.001
)

// Steps finds where the level of a history changed. The values must be positive
// and in the order of time.
//
// For every number of steps the levels that leave the smallest sum of absolute
// errors, of logarithms, are found exactly (so that a single outlier counts once,
// not squared). Which number is right is decided by an information criterion: the
// likelihood of what is left, as noise in which each value leans on the one before
// it, against a price for each step that grows with the length of the history. Runs
// of one machine are correlated (a warm week, a neighbour on the host), and noise
// that wanders looks like steps to a test that believes its values independent.
// Steps smaller than LeastChange are not told.
func Steps(values []float64) []Step {
	x := logs(values)
	if len(x) != len(values) || len(x) < 2*shortest {
		return nil
	}
	best, cuts := math.Inf(1), []int(nil)
	for k, found := range segmentations(x) {
		score := criterion(x, found, k)
		if score < best {
			best, cuts = score, found
		}
	}
	return told(values, cuts)
}

// told are the steps at the cuts, less those that are too small to matter.
func told(values []float64, cuts []int) []Step {
	for {
		var out []Step
		smallest, at := math.Inf(1), -1
		for i, c := range cuts {
			before, after := level(values, cuts, i-1), level(values, cuts, i)
			if size := math.Abs(math.Log(after / before)); size < smallest {
				smallest, at = size, i
			}
			out = append(out, Step{At: c, Before: before, After: after, Ratio: after / before})
		}
		if at < 0 || smallest >= math.Log1p(LeastChange) {
			return out
		}
		cuts = slices.Delete(slices.Clone(cuts), at, at+1) // its neighbours are one level then
	}
}

// level is the median of the values from cut i on; −1 are those before the first.
func level(values []float64, cuts []int, i int) float64 {
	from, to := 0, len(values)
	if i >= 0 {
		from = cuts[i]
	}
	if i+1 < len(cuts) {
		to = cuts[i+1]
	}
	return Median(values[from:to])
}

// segmentations are, for 0, 1, 2 … steps, the places of the steps that leave the
// smallest sum of absolute errors.
func segmentations(x []float64) [][]int {
	n := len(x)
	errors := absoluteErrors(x)
	most := min(mostSteps, n/shortest-1)
	cost := make([][]float64, most+1) // of the first j values with k steps
	from := make([][]int, most+1)
	for k := range cost {
		cost[k], from[k] = make([]float64, n+1), make([]int, n+1)
		for j := range cost[k] {
			cost[k][j] = math.Inf(1)
			if k == 0 && j >= shortest {
				cost[k][j] = errors[0][j]
			}
			for i := k * shortest; k > 0 && i <= j-shortest; i++ {
				if c := cost[k-1][i] + errors[i][j-i]; c < cost[k][j] {
					cost[k][j], from[k][j] = c, i
				}
			}
		}
	}
	out := make([][]int, most+1)
	for k := range out {
		out[k] = make([]int, k)
		for j, i := n, k; i > 0; i-- {
			j = from[i][j]
			out[k][i-1] = j
		}
	}
	return out
}

// absoluteErrors[i][m] is the sum of absolute distances of the m values from i on
// to their median.
func absoluteErrors(x []float64) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = make([]float64, len(x)-i+1)
		var sorted []float64
		for m, v := range x[i:] {
			at, _ := slices.BinarySearch(sorted, v)
			// The new value adds its distance to the middle; the others' middle moves
			// only between the two that enclose it, which changes no sum.
			out[i][m+1] = out[i][m] + distance(sorted, v)
			sorted = slices.Insert(sorted, at, v)
		}
	}
	return out
}

// distance is how far v lies from what are medians of the values: with an even
// number, of any point between the middle two.
func distance(sorted []float64, v float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	lo, hi := sorted[(n-1)/2], sorted[n/2]
	return max(lo-v, v-hi, 0)
}

// criterion is the information criterion of the levels between the cuts: twice the
// negative logarithm of the likelihood, and the price of k steps. In a short
// history what is left fits whatever was drawn through it, so that a step costs more.
func criterion(x []float64, cuts []int, k int) float64 {
	n := float64(len(x))
	left := residuals(x, cuts)
	lean := correlation(left)
	sum := math.Abs(left[0])
	for i, r := range left[1:] {
		sum += math.Abs(r - lean*left[i])
	}
	short := n / max(n-2*float64(k)-spent, 1)
	return 2*n*math.Log(max(sum/n, finest)) + price*float64(k)*math.Log(n)*short
}

func residuals(x []float64, cuts []int) []float64 {
	out := make([]float64, 0, len(x))
	for i := -1; i < len(cuts); i++ {
		middle := level(x, cuts, i)
		from, to := 0, len(x)
		if i >= 0 {
			from = cuts[i]
		}
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		for _, v := range x[from:to] {
			out = append(out, v-middle)
		}
	}
	return out
}

// correlation is that of neighbours, held within what is believed.
func correlation(left []float64) float64 {
	product, square := 0.0, 0.0
	for i, r := range left {
		if i > 0 {
			product += r * left[i-1]
		}
		square += r * r
	}
	if square == 0 {
		return 0
	}
	return min(max(product/square, 0), strongest)
}
