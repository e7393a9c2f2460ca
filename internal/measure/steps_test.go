package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wander is noise in which each value leans on the one before it.
func wander(random *rand.Rand, n int, deviation, lean float64) []float64 {
	out := make([]float64, n)
	last := deviation * random.NormFloat64()
	for i := range out {
		out[i] = 10 * math.Exp(last)
		last = lean*last + deviation*math.Sqrt(1-lean*lean)*random.NormFloat64()
	}
	return out
}

// TestNoFalseSteps: of histories in which nothing changed, at most one point in a
// thousand is taken for a step, however much the noise wanders.
func TestNoFalseSteps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 1))
	for _, lean := range []float64{0, 0.3, 0.6} {
		for _, length := range []int{12, 30, 100} {
			steps, points := 0, 0
			for points < 20000 {
				steps += len(Steps(wander(random, length, 0.02, lean)))
				points += length
			}
			t.Logf("lean %.1f, length %d: %d false steps in %d points", lean, length, steps, points)
			if 1000*steps > points {
				t.Errorf("lean %.1f, length %d: %d false steps in %d points", lean, length, steps, points)
			}
		}
	}
}

// TestPlantedSteps: +10 % is found within three runs after it began, at its place,
// and stays found. After a dozen runs of noise that wanders, one in ten takes longer.
func TestPlantedSteps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 2))
	for _, lean := range []float64{0, 0.3, 0.6} {
		for _, length := range []int{12, 30, 100} {
			for _, after := range []int{3, 10} {
				const tries = 200
				found := 0
				for range tries {
					x := wander(random, length+after, 0.015, lean)
					for i := length; i < len(x); i++ {
						x[i] *= 1.10
					}
					if slices.ContainsFunc(Steps(x), func(s Step) bool { return s.Ratio > 1.03 && s.At >= length-1 && s.At <= length+1 }) {
						found++
					}
				}
				t.Logf("lean %.1f, length %d, %d after it: found in %d of %d", lean, length, after, found, tries)
				least := tries * 9 / 10
				if length < 30 && after == shortest {
					least = tries * 8 / 10
				}
				if found < least {
					t.Errorf("lean %.1f, length %d, %d after it: found in %d of %d", lean, length, after, found, tries)
				}
			}
		}
	}
}

// TestStepsOfNothing: a constant, a lone slow run and too short a history have no
// step; two levels have one, at its place.
func TestStepsOfNothing(t *testing.T) {
	t.Parallel()
	flat := []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}
	slow := slices.Clone(flat)
	slow[6] = 9
	for name, x := range map[string][]float64{"flat": flat, "one slow run": slow, "short": flat[:5], "none": nil, "not positive": {1, 2, 0, 4, 5, 6, 7}} {
		if got := Steps(x); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := Steps([]float64{5, 5.01, 4.99, 5, 5.02, 5, 4.98, 5, 6, 6.01, 5.99, 6, 6.02})
	if len(got) != 1 || got[0].At != 8 || math.Abs(got[0].Ratio-1.2) > 0.01 {
		t.Errorf("two levels: %+v", got)
	}
	if got := Steps([]float64{5, 5.0001, 4.9999, 5, 5, 5, 5.05, 5.0501, 5.0499, 5.05, 5.05, 5.05}); len(got) != 0 {
		t.Errorf("1 %% is too little to tell: %+v", got)
	}
}

// Steps do not depend on the unit, come in order, and leave levels long enough.
func TestStepsScale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(1, 4), 0, 40).Draw(t, "history")
		factor := math.Pow(2, float64(rapid.IntRange(-6, 6).Draw(t, "power")))
		scaled := slices.Clone(x)
		for i := range scaled {
			scaled[i] *= factor
		}
		a, b := Steps(x), Steps(scaled)
		if len(a) != len(b) {
			t.Fatalf("%d and %d steps", len(a), len(b))
		}
		last := 0
		for i, s := range a {
			if s.At != b[i].At || math.Abs(s.Ratio-b[i].Ratio) > 1e-9 || s.At-last < shortest || len(x)-s.At < shortest {
				t.Fatalf("%+v and %+v of %d", s, b[i], len(x))
			}
			last = s.At
		}
	})
}

// The sums that the search is built on are those of their definition.
func TestAbsoluteErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 20).Draw(t, "values")
		got := absoluteErrors(x)
		i := rapid.IntRange(0, len(x)-1).Draw(t, "from")
		m := rapid.IntRange(1, len(x)-i).Draw(t, "count")
		want, middle := 0.0, Median(x[i:i+m])
		for _, v := range x[i : i+m] {
			want += math.Abs(v - middle)
		}
		if math.Abs(got[i][m]-want) > 1e-9 {
			t.Fatalf("%v, want %v", got[i][m], want)
		}
	})
}
