package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestRules(t *testing.T) {
	t.Parallel()
	want := map[string]Rule{
		"test":  {0, 1, 0, 1},
		"quick": {0.2, 10, 5, 3},
		"full":  {1, 64, 60, 6},
	}
	if diff := cmp.Diff(want, Rules()); diff != "" {
		t.Error(diff)
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	six := [][]float64{{10, 10, 11}, {12, 12, 12}, {9, 10, 11}, {13, 14, 13}, {10, 11, 12}, {11, 12, 10}}
	got := Summarise(six)
	f := func(v float64) *float64 { return &v }
	want := Summary{Repeats: 6, N: 18, Median: 11, Lo: f(10), Hi: f(13), Min: 9, Max: 14,
		CVWithin: f(0.0725), CVBetween: f(0.1046), Why: "spread between repeats 10 % (limit 5 %)"}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-3)); diff != "" {
		t.Error(diff)
	}
}

func TestSummariseFewRepeats(t *testing.T) {
	t.Parallel()
	if s := Summarise([][]float64{{5, 5}, {5, 5}, {}, {5, 5}}); s.Lo != nil || s.Hi != nil || s.Repeats != 3 || !s.Stable {
		t.Errorf("three repeats: %+v", s)
	}
	if s := Summarise([][]float64{{5}}); s.CVWithin != nil || s.CVBetween != nil || s.Stable || s.Median != 5 {
		t.Errorf("one sample: %+v", s)
	}
	if s := Summarise([][]float64{{}, nil}); s.N != 0 || !math.IsNaN(s.Median) || s.Why != "no samples" {
		t.Errorf("no samples: %+v", s)
	}
}

func TestPercentilesNeedEnoughSamples(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ n, known int }{{63, 0}, {64, 1}, {129, 1}, {130, 2}, {661, 2}, {662, 3}} {
		samples := make([]float64, tt.n)
		for i := range samples {
			samples[i] = float64(i + 1)
		}
		s := Summarise([][]float64{samples[:tt.n/2], samples[tt.n/2:]})
		known := 0
		for i, p := range []*float64{s.P90, s.P95, s.P99} {
			if p == nil {
				continue
			}
			known++
			if want := math.Ceil([]float64{0.90, 0.95, 0.99}[i] * float64(tt.n)); *p != want {
				t.Errorf("n = %d, percentile %d: %v, want %v", tt.n, i, *p, want)
			}
		}
		if known != tt.known {
			t.Errorf("n = %d: %d percentiles shown, want %d", tt.n, known, tt.known)
		}
	}
}

// The ranks are those of the sign test's tables.
func TestMedianInterval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ n, lo, hi int }{{6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {12, 3, 10}, {20, 6, 15}, {40, 14, 27}} {
		values := make([]float64, tt.n)
		for i := range values {
			values[i] = float64(tt.n - i)
		}
		lo, hi := medianInterval(values)
		if *lo != float64(tt.lo) || *hi != float64(tt.hi) {
			t.Errorf("n = %d: [%v, %v], want [%d, %d]", tt.n, *lo, *hi, tt.lo, tt.hi)
		}
	}
}

func TestStability(t *testing.T) {
	t.Parallel()
	steady := []float64{10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}
	slowing := []float64{10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 12, 12, 12, 12, 12}
	wild := []float64{10, 10, 5, 15, 10, 10, 15, 5, 10, 10, 10, 10, 15, 5, 10}
	twice := make([]float64, len(steady))
	for i, v := range steady {
		twice[i] = 2 * v
	}
	for _, tt := range []struct {
		name    string
		samples [][]float64
		why     string
	}{
		{"steady", [][]float64{steady, steady}, ""},
		{"slowing", [][]float64{slowing, slowing}, "drift within repeats 20 % (limit 10 %)"},
		{"wild", [][]float64{wild, wild}, "spread within repeats 33 % (limit 10 %)"},
		{"apart", [][]float64{steady, twice}, "spread between repeats 47 % (limit 5 %)"},
		{"alone", [][]float64{steady}, "one repeat: the spread between repeats is unknown"},
	} {
		if s := Summarise(tt.samples); s.Why != tt.why || s.Stable != (tt.why == "") {
			t.Errorf("%s: stable %v, %q; want %q", tt.name, s.Stable, s.Why, tt.why)
		}
	}
}

var positive = rapid.Float64Range(1e-3, 1e6)

func samplesOf(least int) *rapid.Generator[[][]float64] {
	return rapid.SliceOfN(rapid.SliceOfN(positive, 1, 12), least, 9)
}

// Changing the unit changes nothing but the unit. Powers of two keep it exact.
func TestSummariseScales(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := samplesOf(1).Draw(t, "samples")
		factor := math.Pow(2, float64(rapid.IntRange(-8, 8).Draw(t, "power")))
		want, got := Summarise(samples), Summarise(scaled(samples, factor))
		if diff := cmp.Diff(scaleSummary(want, factor), got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The order of repeats is the order in which the machine got to them.
func TestSummarisePermutes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := samplesOf(1).Draw(t, "samples")
		other := rapid.Permutation(samples).Draw(t, "other")
		if diff := cmp.Diff(Summarise(samples), Summarise(other), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Making any sample slower never makes the summary faster.
func TestSummariseIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := samplesOf(6).Draw(t, "samples")
		slower := scaled(samples, 1)
		i := rapid.IntRange(0, len(slower)-1).Draw(t, "repeat")
		j := rapid.IntRange(0, len(slower[i])-1).Draw(t, "sample")
		slower[i][j] += positive.Draw(t, "more")
		a, b := Summarise(samples), Summarise(slower)
		if b.Median < a.Median || *b.Lo < *a.Lo || *b.Hi < *a.Hi || b.Min < a.Min || b.Max < a.Max {
			t.Fatalf("%+v became %+v", a, b)
		}
		if *a.Lo > a.Median || a.Median > *a.Hi || a.Min > *a.Lo || *a.Hi > a.Max {
			t.Fatalf("out of order: %+v", a)
		}
	})
}

func scaled(samples [][]float64, factor float64) [][]float64 {
	out := make([][]float64, len(samples))
	for i, r := range samples {
		for _, v := range r {
			out[i] = append(out[i], factor*v)
		}
	}
	return out
}

func scaleSummary(s Summary, factor float64) Summary {
	for _, p := range []**float64{&s.Lo, &s.Hi, &s.P90, &s.P95, &s.P99} {
		if *p != nil {
			v := factor * **p
			*p = &v
		}
	}
	s.Median, s.Min, s.Max = factor*s.Median, factor*s.Min, factor*s.Max
	return s
}
