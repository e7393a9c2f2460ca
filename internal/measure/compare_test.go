package measure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The expected values are counted out by hand or stand in tables.
func TestUTest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"apart", []float64{1, 2, 3, 4, 5, 6}, []float64{7, 8, 9, 10, 11, 12}, 2.0 / 924},
		{"apart, reversed", []float64{7, 8, 9, 10, 11, 12}, []float64{1, 2, 3, 4, 5, 6}, 2.0 / 924},
		{"three a side", []float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{"mixed", []float64{1, 3, 5, 7, 9, 11}, []float64{2, 4, 6, 8, 10, 12}, 0.6991341991341992},
		{"same", []float64{5, 5, 5}, []float64{5, 5, 5}, 1},
		{"tie between", []float64{1, 2}, []float64{2, 3}, 4.0 / 6},
		{"uneven", []float64{1, 2}, []float64{3, 4, 5, 6, 7, 8}, 2.0 / 28},
	} {
		if got := uTest(tt.a, tt.b); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: p = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Tables of the U test's critical values, two-sided, 5 %: largest U that
// rejects, plus one.
func TestCriticalU(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ n, m, want int }{{4, 4, 1}, {6, 6, 6}, {6, 10, 12}, {10, 10, 24}, {20, 20, 128}} {
		if got := criticalU(tt.n, tt.m); got != tt.want {
			t.Errorf("%d, %d: %d, want %d", tt.n, tt.m, got, tt.want)
		}
	}
	if exact, approx := criticalU(25, 25), criticalU(26, 25); approx < exact || approx > exact+15 {
		t.Errorf("25 and 25: %d; 26 and 25: %d", exact, approx)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	a := [][]float64{{10}, {11}, {12}, {13}, {14}, {15}}
	c := Compare(a, scaled(a, 0.5))
	if c.Ratio != 0.5 || !c.Differs() || *c.Hi >= 1 || *c.Lo > 0.5 || *c.Hi < 0.5 {
		t.Errorf("half: %+v [%v, %v]", c, *c.Lo, *c.Hi)
	}
	c = Compare(a[:3], a[:2])
	if c.Lo != nil || c.Differs() || !strings.Contains(strings.Join(c.Warnings, "\n"), "cannot show a difference") {
		t.Errorf("few: %+v", c)
	}
	c = Compare(a, nil)
	if c.P != nil || !math.IsNaN(c.Ratio) || len(c.Warnings) != 1 {
		t.Errorf("nothing: %+v", c)
	}
}

func TestCompareIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := samplesOf(6).Draw(t, "a"), samplesOf(6).Draw(t, "b")
		ab, ba := Compare(a, b), Compare(b, a)
		near := cmpopts.EquateApprox(1e-9, 0)
		if !cmp.Equal(*ab.P, *ba.P, near) || !cmp.Equal(ab.Ratio, 1/ba.Ratio, near) ||
			!cmp.Equal(*ab.Lo, 1 / *ba.Hi, near) || !cmp.Equal(*ab.Hi, 1 / *ba.Lo, near) {
			t.Fatalf("%+v against %+v", ab, ba)
		}
		if *ab.Lo > ab.Ratio || ab.Ratio > *ab.Hi {
			t.Fatalf("ratio %v outside [%v, %v]", ab.Ratio, *ab.Lo, *ab.Hi)
		}
	})
}

func TestCompareScales(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := samplesOf(2).Draw(t, "a"), samplesOf(2).Draw(t, "b")
		factor := math.Pow(2, float64(rapid.IntRange(-8, 8).Draw(t, "power")))
		plain, both := Compare(a, b), Compare(scaled(a, factor), scaled(b, factor))
		both.MedianA, both.MedianB = both.MedianA/factor, both.MedianB/factor
		if diff := cmp.Diff(plain, both, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The interval and the test say the same, which is what the interval was
// chosen for.
func TestIntervalAgreesWithTest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		a, b := draw(random, 6, 0), draw(random, 6+random.IntN(5), random.Float64())
		lo, hi := ratioInterval(a, b, Median(b)/Median(a))
		if outside := *lo > 1 || *hi < 1; outside != (uTest(a, b) < 0.05) {
			t.Errorf("p = %v but the interval is [%v, %v]", uTest(a, b), *lo, *hi)
		}
	}
}

// aFew draws a cell as it was seen on real machines: each process has a level of
// its own, and its iterations are correlated (lag-1 0.88) around it.
func aFew(random *rand.Rand, repeats, n int) [][]float64 {
	samples := make([][]float64, repeats)
	for i := range samples {
		level, noise := 8*math.Exp(0.15*random.NormFloat64()), 0.0
		for range n {
			noise = 0.88*noise + 0.1*random.NormFloat64()
			samples[i] = append(samples[i], level*math.Exp(noise/4))
		}
	}
	return samples
}

func TestAgainstItself(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(17, 4))
	const tries = 400
	byRepeat, byIteration := 0, 0
	for range tries {
		a, b := aFew(random, 6, 64), aFew(random, 6, 64)
		if Compare(a, b).Differs() {
			byRepeat++
		}
		if uTest(pool(a), pool(b)) < 0.05 {
			byIteration++
		}
	}
	if byRepeat > tries/10 {
		t.Errorf("A against A differs in %d of %d tries", byRepeat, tries)
	}
	if byIteration < tries/2 {
		t.Errorf("the same data by iterations differs in only %d of %d: it is not the data this test is about", byIteration, tries)
	}
}

func draw(random *rand.Rand, n int, shift float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Exp(shift + 0.3*random.NormFloat64())
	}
	return values
}
