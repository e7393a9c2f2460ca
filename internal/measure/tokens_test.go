package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Streams with answers worked out by hand, to a microsecond.
func TestStreams(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, tt := range []struct {
		name            string
		stream          Stream
		ttft, tpot, e2e float64
		between         []float64
	}{
		{"one token at a time", Stream{50, 60, 75, 80}, 50, 10, 80, []float64{10, 15, 5}},
		{"a slow prompt is no part of later tokens", Stream{5000, 5010, 5020}, 5000, 10, 5020, []float64{10, 10}},
		{"one token", Stream{12.5}, 12.5, nan, 12.5, []float64{}},
		{"no token", Stream{}, nan, nan, nan, []float64{}},
		{"chunks of four", Stream{100, 100, 100, 100, 140, 140, 140, 140, 180, 180, 180, 180},
			100, 80. / 11, 180, []float64{0, 0, 0, 10, 10, 10, 10, 10, 10, 10, 10}},
		{"all in one chunk of sixteen", Stream{30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30}, 30, 0, 30, make([]float64, 15)},
		{"speculative: one, three, two", Stream{20, 32, 32, 32, 40, 40}, 20, 4, 40, []float64{4, 4, 4, 4, 4}},
	} {
		s := tt.stream
		near := cmp.Options{cmpopts.EquateApprox(0, 1e-3), cmpopts.EquateNaNs()}
		if diff := cmp.Diff([]float64{tt.ttft, tt.tpot, tt.e2e}, []float64{s.TTFT(), s.TPOT(), s.E2E()}, near); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.between, s.Between(), near); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if err := s.Check(len(s)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A server that sent 5.5 chunks a second had decoded 25.2 tokens a second.
func TestTokensAreCountedByID(t *testing.T) {
	t.Parallel()
	var s Stream
	for chunk := range 30 {
		for range 4 + chunk%2 {
			s = append(s, 200+float64(chunk)*1000/5.5)
		}
	}
	if rate := 1000 / s.TPOT(); math.Abs(rate-25.2) > 0.7 {
		t.Errorf("%.2f tokens a second", rate)
	}
}

func TestStreamsThatAreNone(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Stream{
		"a token counted twice": {10, 20, 30, 30}, "a token lost": {10, 20}, "backwards": {10, 30, 20}, "before it was asked for": {-1, 2, 3},
		"not a number": {10, math.NaN(), 30}, "never": {10, 20, math.Inf(1)},
	} {
		if s.Check(3) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Whatever the chunks are, times between tokens add up to what the first token
// left, their mean is TPOT, and none of them knows how long the first one took.
func TestBetweenAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Float64Range(0, 1e4).Draw(t, "first")
		later := Stream{0}
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 16), 0, 20).Draw(t, "chunks") {
			at := later.E2E() + rapid.Float64Range(0.01, 100).Draw(t, "wait")
			for range n {
				later = append(later, at)
			}
		}
		moved := make(Stream, len(later))
		for i, at := range later {
			moved[i] = first + at
		}
		sum := 0.0
		for _, ms := range moved.Between() {
			sum += ms
		}
		if math.Abs(sum-(moved.E2E()-moved.TTFT())) > 1e-6 || len(moved.Between()) != len(moved)-1 {
			t.Fatalf("%v → %v", moved, moved.Between())
		}
		if diff := cmp.Diff(later.Between(), moved.Between(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The least numbers are those of MLPerf's rules; the others are what its load
// generator printed for runs of that length ("would discard 172 highest latency queries").
func TestEarlyStopping(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n    int
		p    float64
		over int
	}{
		{63, 0.90, 0}, {64, 0.90, 1}, {129, 0.95, 0}, {130, 0.95, 1}, {661, 0.99, 0}, {662, 0.99, 1},
		{2048, 0.90, 173}, {2116, 0.90, 179}, {2145, 0.90, 182},
	} {
		if over := Over(tt.n, tt.p); over != tt.over {
			t.Errorf("n = %d, p = %g: %d, want %d", tt.n, tt.p, over, tt.over)
		}
	}
	for _, row := range enough {
		if Over(row.n, row.p) != 1 || Over(row.n-1, row.p) != 0 {
			t.Errorf("%g is shown from %d samples on, and the rule says otherwise", row.p, row.n)
		}
	}
}

func TestTails(t *testing.T) {
	t.Parallel()
	samples := make([]float64, 64)
	for i := range samples {
		samples[i] = float64(64 - i)
	}
	got := TailsOf([][]float64{samples[:30], samples[30:]})
	if got.P90 == nil || *got.P90 != 64 || got.P95 != nil || got.P99 != nil {
		t.Errorf("%+v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(positive, 64, 400).Draw(t, "samples")
		tail, own := Tail(samples, 0.9), percentile(pool([][]float64{samples}), 0.9)
		if *tail < *own {
			t.Fatalf("the estimate %v is below the samples' own %v", *tail, *own)
		}
	})
}
