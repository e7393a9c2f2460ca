package measure

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// exactLimit is the largest number of values for which the U test's
// distribution is counted out; beyond it the normal approximation is good to
// three digits.
const exactLimit = 50

// uTest returns the two-sided p-value of the Mann-Whitney U test that a and b
// come from one distribution. Equal values share their mean rank, and the
// distribution is counted over those ranks, so ties need no correction.
func uTest(a, b []float64) float64 {
	ranks := doubledRanks(a, b)
	sum, total := 0, 0
	for i, r := range ranks {
		total += r
		if i < len(a) {
			sum += r
		}
	}
	// Twice the distance from the expected rank sum, scaled by the number of
	// values to stay whole.
	distance := func(s int) int { return abs(s*len(ranks) - total*len(a)) }
	if len(ranks) > exactLimit {
		return normalP(ranks, len(a), len(b), float64(distance(sum))/float64(2*len(ranks)))
	}
	ways := subsetSums(ranks, len(a))
	extreme := 0.0
	for s, n := range ways {
		if distance(s) >= distance(sum) {
			extreme += n
		}
	}
	return min(1, extreme/float64(combin.Binomial(len(ranks), len(a))))
}

// normalP approximates the p-value of a rank sum that lies distance from its
// expectation, with half a step taken off for continuity.
func normalP(doubled []int, na, nb int, distance float64) float64 {
	n := float64(len(doubled))
	variance := 0.0
	for _, r := range doubled {
		d := float64(r)/2 - (n+1)/2
		variance += d * d
	}
	variance *= float64(na) * float64(nb) / (n * (n - 1))
	if variance == 0 {
		return 1
	}
	z := max(0, distance-0.5) / math.Sqrt(variance)
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// doubledRanks returns twice the rank of each value of a and then of b among
// all of them. Twice, because the mean rank of ties may end in a half.
func doubledRanks(a, b []float64) []int {
	all := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(all))
	ranks := make([]int, len(all))
	for i, v := range all {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		ranks[i] = first + 1 + last
	}
	return ranks
}

// subsetSums counts, for each sum, the choices of k of the values that add up
// to it.
func subsetSums(values []int, k int) []float64 {
	total := 0
	for _, v := range values {
		total += v
	}
	ways := make([][]float64, k+1)
	for i := range ways {
		ways[i] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, v := range values {
		for chosen := k; chosen > 0; chosen-- {
			for s := total; s >= v; s-- {
				ways[chosen][s] += ways[chosen-1][s-v]
			}
		}
	}
	return ways[k]
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
	ranks := make([]int, na+nb)
	for i := range ranks {
		ranks[i] = i + 1
	}
	ways := subsetSums(ranks, na)
	all := float64(combin.Binomial(na+nb, na))
	least := na * (na + 1) / 2 // the rank sum at U = 0
	k, tail := 0, 0.0
	for ; k <= na*nb; k++ {
		if tail += ways[least+k]; 2*tail/all > 1-Confidence {
			break
		}
	}
	return k
}

// leastP is the smallest p-value that so many repeats can give.
func leastP(na, nb int) float64 {
	return min(1, 2/combin.GeneralizedBinomial(float64(na+nb), float64(na)))
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
