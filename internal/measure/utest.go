package measure

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// exactLimit is the largest number of values for which the U distribution is
// counted out; beyond it the normal approximation is good to three digits.
const exactLimit = 50

// uTest returns the two-sided p-value of the Mann-Whitney U test that a and b
// come from one distribution. With ties the library's value depends a little on
// which side is named first; the larger of both, which claims less, does not.
func uTest(a, b []float64) float64 {
	p := func(a, b []float64) float64 {
		x := benchmath.NewSample(slices.Clone(a), &benchmath.DefaultThresholds)
		y := benchmath.NewSample(slices.Clone(b), &benchmath.DefaultThresholds)
		return benchmath.AssumeNothing.Compare(x, y).P
	}
	return max(p(a, b), p(b, a))
}

// criticalU returns the largest k for which U ≤ k−1 has, on both sides
// together, a probability of at most 1 − Confidence when there is no
// difference: the k-th smallest of all pairs is where an interval ends.
func criticalU(na, nb int) int {
	if na+nb > exactLimit {
		n, m := float64(na), float64(nb)
		z := distuv.UnitNormal.Quantile((1 + Confidence) / 2)
		return int(max(1, math.Floor(n*m/2-z*math.Sqrt(n*m*(n+m+1)/12))))
	}
	dist := stats.UDist{N1: na, N2: nb}
	k := 0
	for k <= na*nb && 2*dist.CDF(float64(k)) <= 1-Confidence {
		k++
	}
	return k
}

// leastP is the smallest p-value that this many repeats can give.
func leastP(na, nb int) float64 {
	return min(1, 2/combin.GeneralizedBinomial(float64(na+nb), float64(na)))
}
