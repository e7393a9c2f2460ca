package lab

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/runner"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// repeatOf is a repeat of two generations of three tokens, the first token late.
func repeatOf(first, each float64, ids ...int) pointRun {
	stream := func(more float64) []float64 {
		return []float64{first + more, first + more + each, first + more + 2*each}
	}
	return pointRun{Report: runner.Report{Generation: &runner.Tokens{
		PromptTokens: 5, NewTokens: 3, Batch: 2, PrefillsMS: []float64{first - 1, first}, StreamsMS: [][]float64{stream(0), stream(1)},
		IDs: [][]int{ids, ids},
	}}}
}

func TestTokensOverRepeats(t *testing.T) {
	t.Parallel()
	runs := []pointRun{repeatOf(100, 4, 7, 8, 9), repeatOf(110, 5, 7, 8, 9), repeatOf(90, 6, 7, 8, 1)}
	checked := &cell.Generation{AgreedTokens: new(3), OnePass: &cell.OnePass{Tokens: new(3)}}
	g := generation(checked, runs)
	want := &cell.Generation{
		PromptTokens: 5, NewTokens: 3, PrefillMS: new(99.5), AgreedTokens: new(3), OnePass: checked.OnePass,
		TTFT:       &cell.Spread{Median: 100.5, N: 6},
		TPOT:       &cell.Spread{Median: 5, N: 6},
		Between:    &cell.Spread{Median: 5, N: 12},
		TokensPerS: new(400.0), // two rows, a token every 5 ms
		IDs:        [][]int{{7, 8, 9}, {7, 8, 9}},
		Strayed:    2, // both of the last repeat
	}
	if d := cmp.Diff(want, g, cmpopts.IgnoreFields(cell.Generation{}, "StreamsMS"), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Error(d)
	}
	if len(g.StreamsMS) != 3 || len(g.StreamsMS[0]) != 2 || len(g.StreamsMS[0][0]) != 3 {
		t.Errorf("streams %v", g.StreamsMS)
	}
	if generation(checked, []pointRun{{}}) != checked || generation(nil, nil) != nil {
		t.Error("what was not timed is what the check saw")
	}
}

// One token has no later ones: no rate is made up.
func TestOneTokenHasNoRate(t *testing.T) {
	t.Parallel()
	g := generated(&runner.Tokens{NewTokens: 1, Batch: 1, StreamsMS: [][]float64{{12}, {14}}})
	if g.TTFT == nil || g.TTFT.Median != 13 || g.TPOT != nil || g.Between != nil || g.TokensPerS != nil || g.PrefillMS != nil {
		t.Errorf("%+v", g)
	}
}

func TestMiscounted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tokens *runner.Tokens
		wrong  bool
	}{
		"none":        {nil, false},
		"right":       {&runner.Tokens{NewTokens: 2, StreamsMS: [][]float64{{1, 2}}, IDs: [][]int{{4, 4}}}, false},
		"untold":      {&runner.Tokens{NewTokens: 2, StreamsMS: [][]float64{{1, 2}}}, false},
		"twice":       {&runner.Tokens{NewTokens: 2, StreamsMS: [][]float64{{1, 2, 2}}}, true},
		"by chunks":   {&runner.Tokens{NewTokens: 8, StreamsMS: [][]float64{{1, 2}}, IDs: [][]int{{1, 2, 3, 4, 5, 6, 7, 8}}}, true},
		"another id":  {&runner.Tokens{NewTokens: 2, StreamsMS: [][]float64{{1, 2}}, IDs: [][]int{{4, 4, 4}}}, true},
		"out of time": {&runner.Tokens{NewTokens: 2, StreamsMS: [][]float64{{2, 1}}}, true},
	} {
		if err := miscounted(tc.tokens); (err != nil) != tc.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPartsOfSteps(t *testing.T) {
	t.Parallel()
	var runs []pointRun
	for _, ms := range []float64{3, 5, 4} {
		runs = append(runs, pointRun{Report: runner.Report{Training: &runner.Training{PartsMS: map[string][]float64{"forward": {ms, ms}, "backward": {2 * ms, 2 * ms}}}}})
	}
	got := trained(&cell.Training{Objective: "loss"}, runs)
	want := &cell.Training{Objective: "loss", Parts: map[string]cell.Spread{"forward": {Median: 4, N: 6}, "backward": {Median: 8, N: 6}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if trained(nil, runs) != nil {
		t.Error("what was not checked is not timed")
	}
}
