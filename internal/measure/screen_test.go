package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The example of Benjamini and Hochberg's own paper: four of fifteen.
func TestAdjusted(t *testing.T) {
	t.Parallel()
	ps := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	n := 0
	for _, p := range Adjusted(ps) {
		if p <= FalseDiscovery {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d are rejected, want 4", n)
	}
	want := []float64{0.05, 0.02, 0.05, 0.05}
	if d := cmp.Diff(want, Adjusted([]float64{0.04, 0.005, 0.03, 0.05}), cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Error(d)
	}
	if got := Adjusted(nil); len(got) != 0 {
		t.Error(got)
	}
}

func TestAdjustedKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 40).Draw(t, "ps")
		adjusted := Adjusted(ps)
		for i := range ps {
			if adjusted[i] < ps[i] || adjusted[i] > 1 || adjusted[i] > ps[i]*float64(len(ps))+1e-12 {
				t.Fatalf("%v became %v", ps[i], adjusted[i])
			}
			for j := range ps {
				if ps[i] < ps[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("%v < %v, but %v > %v", ps[i], ps[j], adjusted[i], adjusted[j])
				}
			}
		}
	})
}

func TestScreen(t *testing.T) {
	t.Parallel()
	steady := [][]float64{{10}, {10.05}, {9.95}, {10}, {10.02}, {9.98}}
	for _, tt := range []struct {
		name      string
		b         [][]float64
		candidate bool
	}{
		{"the same", steady, false},
		{"2 % slower", scaled(steady, 1.02), false},
		{"3 % slower", scaled(steady, 1.03), true},
		{"3 % faster", scaled(steady, 1/1.03), true},
		{"too wild to tell", [][]float64{{8}, {14}, {9}, {13}, {12}, {10}}, false},
		{"one repeat", [][]float64{{20}}, false},
	} {
		if got := Screen(steady, tt.b); got.Candidate != tt.candidate {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// Naming the sides the other way round changes nothing, and a wider spread never
// lets a smaller change be found.
func TestScreenIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := samplesOf(2).Draw(t, "a"), samplesOf(2).Draw(t, "b")
		ab, ba := Screen(a, b), Screen(b, a)
		if d := cmp.Diff(ab, ba, cmpopts.EquateApprox(1e-9, 0)); d != "" {
			t.Fatal(d)
		}
		if ab.Passes < LeastChange-1e-12 || ab.Finds < ab.Passes {
			t.Fatalf("%+v", ab)
		}
	})
}

// pair draws the repeats of two sides, one value each.
func pair(random *rand.Rand, n int, deviation, ratio float64) (a, b [][]float64) {
	for range n {
		a = append(a, []float64{math.Exp(deviation * random.NormFloat64())})
		b = append(b, []float64{ratio * math.Exp(deviation*random.NormFloat64())})
	}
	return a, b
}

// twice is both stages for a family of cells: which of them are found to be other. The
// stored repeats of side a serve in both where nobody can run it again.
func twice(random *rand.Rand, cells int, deviation, ratio float64, stored bool) []bool {
	var screened, fresh []Comparison
	var at []int
	var ps []float64
	for i := range cells {
		a, b := pair(random, MinRepeats, deviation, ratio)
		if Screen(a, b).Candidate {
			screened = append(screened, Compare(a, b))
			x, y := pair(random, ConfirmRepeats, deviation, ratio)
			if stored {
				x = a
			}
			again := Compare(x, y)
			fresh, ps, at = append(fresh, again), append(ps, *again.P), append(at, i)
		}
	}
	out := make([]bool, cells)
	for i, p := range Adjusted(ps) {
		out[at[i]] = Confirmed(screened[i], fresh[i], p)
	}
	return out
}

// TestTwoStages is the promise of the two stages, on simulated repeats: of a lone
// cell against itself at most one try in a thousand has a verdict, however wild it
// is; where repeats vary by 1.5 %, +10 % is found in 95 % of tries and +5 % in 80 %.
func TestTwoStages(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 3))
	share := func(tries, cells int, deviation, ratio float64) float64 {
		return shareFound(random, tries, cells, deviation, ratio, false)
	}
	for _, deviation := range []float64{0.005, 0.015, 0.05, 0.2} {
		for _, cells := range []int{1, 50} {
			got := share(20000/cells, cells, deviation, 1)
			t.Logf("A against A, %d cells that vary by %.1f %%: %.5f", cells, 100*deviation, got)
			if got > 0.001 {
				t.Errorf("%d cells that vary by %.1f %%: %.4f have a verdict", cells, 100*deviation, got)
			}
		}
	}
	for _, tt := range []struct{ ratio, least float64 }{{1.10, 0.95}, {1 / 1.10, 0.95}, {1.05, 0.80}, {1 / 1.05, 0.80}} {
		got := share(2000, 1, 0.015, tt.ratio)
		t.Logf("%.3f: found in %.3f", tt.ratio, got)
		if got < tt.least {
			t.Errorf("%.3f: found in %.3f", tt.ratio, got)
		}
	}
}

// shareFound is the share of cells that get a verdict.
func shareFound(random *rand.Rand, tries, cells int, deviation, ratio float64, stored bool) float64 {
	n := 0
	for range tries {
		for _, found := range twice(random, cells, deviation, ratio, stored) {
			if found {
				n++
			}
		}
	}
	return float64(n) / float64(tries*cells)
}

// TestStoredStages: where the stored repeats of a side choose the candidates and are what
// the fresh ones are compared with, chance counts twice. docs/comparing.md says how much.
func TestStoredStages(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 5))
	for _, deviation := range []float64{0.015, 0.05, 0.2} {
		for _, cells := range []int{1, 50, 500} {
			got := shareFound(random, 40000/cells, cells, deviation, 1, true)
			t.Logf("stored A against A, %d cells that vary by %.1f %%: %.5f", cells, 100*deviation, got)
			if got > 0.008 {
				t.Errorf("%d cells that vary by %.1f %%: %.4f have a verdict", cells, 100*deviation, got)
			}
		}
	}
}

// What a screen says that it finds, it finds in about four of five tries.
func TestScreenFinds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 4))
	for _, deviation := range []float64{0.03, 0.10} {
		var finds []float64
		for range 500 {
			a, b := pair(random, MinRepeats, deviation, 1)
			finds = append(finds, Screen(a, b).Finds)
		}
		change, found := 1+Median(finds), 0
		const tries = 2000
		for range tries {
			if a, b := pair(random, MinRepeats, deviation, change); Screen(a, b).Candidate {
				found++
			}
		}
		if found < tries*7/10 || found > tries*9/10 {
			t.Errorf("vary by %.0f %%: a change of %.1f %% is found in %d of %d", 100*deviation, 100*(change-1), found, tries)
		}
	}
}

func TestShareInterval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		k, n   int
		lo, hi float64
	}{{0, 5000, 0, 0.000738}, {5, 5000, 0.000325, 0.002332}, {10, 10, 0.691503, 1}, {0, 0, 0, 1}} {
		lo, hi := ShareInterval(tt.k, tt.n)
		if math.Abs(lo-tt.lo) > 2e-6 || math.Abs(hi-tt.hi) > 2e-6 {
			t.Errorf("%d of %d: [%.6f, %.6f], want [%.6f, %.6f]", tt.k, tt.n, lo, hi, tt.lo, tt.hi)
		}
	}
}

func TestGeometricMean(t *testing.T) {
	t.Parallel()
	if got := GeometricMean([]float64{2, 0.5, 8, 0.125}); math.Abs(got-1) > 1e-12 {
		t.Error(got)
	}
	if got := GeometricMean(slices.Repeat([]float64{1.1}, 7)); math.Abs(got-1.1) > 1e-12 || !math.IsNaN(GeometricMean(nil)) {
		t.Error(got)
	}
}
