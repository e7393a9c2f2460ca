package measure

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// enough is the least number of pooled iterations for a percentile: with fewer,
// the sample's own percentile says little about the tail.
var enough = []struct {
	p float64
	n int
}{{0.90, 64}, {0.95, 130}, {0.99, 662}}

// EnoughFor returns how many iterations percentile p (0.90, 0.95 or 0.99)
// needs before it is shown, and 0 for one that is never shown.
func EnoughFor(p float64) int {
	for _, row := range enough {
		if row.p == p {
			return row.n
		}
	}
	return 0
}

// percentile returns the smallest sample that at least the fraction p of the
// sorted samples does not exceed: a value that was seen, not an interpolation.
func percentile(sorted []float64, p float64) *float64 {
	if least := EnoughFor(p); least == 0 || len(sorted) < least {
		return nil
	}
	v := stat.Quantile(p, stat.Empirical, sorted, nil)
	return &v
}

// medianInterval returns the narrowest symmetric pair of order statistics that
// holds the true median with Confidence. It assumes only that repeats are
// independent.
func medianInterval(values []float64) (lo, hi *float64) {
	n := len(values)
	if n < MinRepeats {
		return nil, nil
	}
	below := distuv.Binomial{N: float64(n), P: 0.5}
	k := 1
	for 1-2*below.CDF(float64(k)) >= Confidence {
		k++
	}
	sorted := slices.Sorted(slices.Values(values))
	return &sorted[k-1], &sorted[n-k]
}

// Medians returns the median of each repeat that has samples, in their order.
func Medians(samples [][]float64) []float64 {
	var medians []float64
	for _, r := range withSamples(samples) {
		medians = append(medians, Median(r))
	}
	return medians
}

// Median returns the middle of the values, or the mean of the two middle ones;
// NaN when there are none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted) == 0 {
		return math.NaN()
	}
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1]/2 + sorted[half]/2
}

// cv returns the n−1 deviation over the mean, nil where it is not defined.
func cv(values []float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	if mean == 0 {
		return nil
	}
	v := deviation / mean
	return &v
}

// cvWithin pools the repeats' relative variances by their degrees of freedom,
// so that a long repeat counts for more than a short one.
func cvWithin(repeats [][]float64) *float64 {
	sum, freedom := 0.0, 0.0
	for _, r := range repeats {
		if v := cv(r); v != nil {
			df := float64(len(r) - 1)
			sum += df * *v * *v
			freedom += df
		}
	}
	if freedom == 0 {
		return nil
	}
	v := math.Sqrt(sum / freedom)
	return &v
}

func withSamples(samples [][]float64) [][]float64 {
	return slices.DeleteFunc(slices.Clone(samples), func(r []float64) bool { return len(r) == 0 })
}

func pool(repeats [][]float64) []float64 {
	all := slices.Concat(repeats...)
	slices.Sort(all)
	return all
}
