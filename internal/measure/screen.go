package measure

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The two stages of a comparison of many cells. Six repeats against six cannot
// give p < 0.0022, so no single pass over hundreds of cells survives a correction
// for their number. A screen therefore picks candidates by the size of the change,
// and only they are run again, with fresh repeats.
const (
	// LeastChange is the smallest change of a ratio that is worth a verdict.
	LeastChange = 0.025
	// ConfirmRepeats is how many fresh repeats each side of a candidate gets.
	ConfirmRepeats = 10
	// FalseDiscovery is the share of wrong verdicts among all that are given that
	// Adjusted p-values are held to.
	FalseDiscovery = 0.05
)

// errorsAway is by how many standard errors a candidate differs from no change.
// With few repeats the error itself is uncertain, so that Student's distribution
// takes the place of the normal one.
const errorsAway = 2.0

// medianFactor is how much less certain a median is than a mean, of many normal
// values: √(π/2). For few it is a little less.
const medianFactor = 1.2533141373155001

// Screened is the first look at a change.
type Screened struct {
	// Error is the standard error of the logarithm of the ratio, by the spread of
	// both sides' repeats; NaN where a side has fewer than two.
	Error float64
	// Passes is by how much, at least, a ratio must differ from 1 to be a candidate,
	// as a share: 0.03 is 3 % slower, or faster by as much.
	Passes float64
	// Finds is the smallest change that would become a candidate in four of five
	// tries, as a share.
	Finds float64
	// Candidate says that the ratio differs by at least LeastChange and by more than
	// two standard errors.
	Candidate bool
}

// Screen looks at the repeats of two sides. It says which cells to run again, not
// which have changed.
func Screen(a, b [][]float64) Screened {
	ma, mb := Medians(a), Medians(b)
	la, lb := logs(ma), logs(mb)
	s := Screened{Error: math.NaN(), Passes: math.Inf(1), Finds: math.Inf(1)}
	if len(la) < 2 || len(lb) < 2 {
		return s
	}
	va, vb := stat.Variance(la, nil), stat.Variance(lb, nil)
	s.Error = medianFactor * math.Sqrt(va/float64(len(la))+vb/float64(len(lb)))
	away := studentsAway(len(la)+len(lb)-2) * s.Error
	least := max(math.Log1p(LeastChange), away)
	const fourOfFive = 0.8416 // of a standard error, beyond the limit
	s.Passes, s.Finds = math.Expm1(least), math.Expm1(least+fourOfFive*s.Error)
	change := math.Abs(math.Log(Median(mb) / Median(ma)))
	s.Candidate = change >= math.Log1p(LeastChange) && change > away
	return s
}

// quantiles are those of Student's distribution that were asked for, by its degrees of
// freedom: sweeps have thousands of cells and one number of repeats.
var quantiles sync.Map

// studentsAway is errorsAway by Student's distribution.
func studentsAway(freedom int) float64 {
	if known, ok := quantiles.Load(freedom); ok {
		return known.(float64)
	}
	q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(distuv.UnitNormal.CDF(errorsAway))
	quantiles.Store(freedom, q)
	return q
}

func logs(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if v > 0 {
			out = append(out, math.Log(v))
		}
	}
	return out
}

// Confirmed reports whether fresh repeats bear a candidate out: the change is in
// the direction that the screen saw, is again no smaller than LeastChange, and has
// an adjusted p-value of at most FalseDiscovery.
func Confirmed(screened, fresh Comparison, adjusted float64) bool {
	same := (screened.Ratio > 1) == (fresh.Ratio > 1)
	return same && math.Abs(math.Log(fresh.Ratio)) >= math.Log1p(LeastChange) && adjusted <= FalseDiscovery
}

// Adjusted are p-values after the correction of Benjamini and Hochberg for their
// number, in the same order: those at most q are wrong in a share of at most q.
func Adjusted(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case ps[i] < ps[j]:
			return -1
		case ps[i] > ps[j]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	least := 1.0
	for rank := len(order); rank > 0; rank-- {
		i := order[rank-1]
		least = min(least, max(ps[i], ps[i]*float64(len(ps))/float64(rank))) // which rounding would make smaller
		out[i] = least
	}
	return out
}

// LeastP is the smallest p-value that so many repeats on each side can give.
func LeastP(a, b int) float64 { return leastP(a, b) }

// GeometricMean is that of ratios; NaN where there are none.
func GeometricMean(ratios []float64) float64 {
	if len(ratios) == 0 {
		return math.NaN()
	}
	return math.Exp(stat.Mean(logs(ratios), nil))
}

// ShareInterval holds the true share with Confidence where k of n were seen, by
// Clopper and Pearson: exact, and never too narrow.
func ShareInterval(k, n int) (lo, hi float64) {
	tail := (1 - Confidence) / 2
	lo, hi = 0, 1
	if n == 0 {
		return lo, hi
	}
	if k > 0 {
		lo = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		hi = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return lo, hi
}
