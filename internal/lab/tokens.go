package lab

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/runner"
)

// miscounted says what is wrong with the tokens that a child reports, if
// anything: of another number than were asked for no time means what it says.
func miscounted(t *runner.Tokens) error {
	if t == nil {
		return nil
	}
	for _, s := range t.StreamsMS {
		if err := measure.Stream(s).Check(t.NewTokens); err != nil {
			return err
		}
	}
	for _, row := range t.IDs {
		if len(row) != t.NewTokens {
			return fmt.Errorf("a text has %d new tokens, and %d were asked for", len(row), t.NewTokens)
		}
	}
	return nil
}

// parted says how tokens differ from those that one pass over the whole text
// would have chosen. It is the model's own code that parts from itself.
func parted(t *runner.Tokens) string {
	o := t.OnePass
	if o.Tokens != nil && *o.Tokens < t.NewTokens {
		return fmt.Sprintf("token %d is not the one that a pass over the whole text chooses: its own way of keeping the past changes what it says", *o.Tokens+1)
	}
	return fmt.Sprintf("token by token its logits differ from those of one pass over the whole text by %s of the largest value, more than %.2g", number(o.MaxRel), o.Tolerance)
}

// generation is what the repeats say of their tokens; checked is what the check
// says of them, which stays where nothing was timed.
func generation(checked *cell.Generation, runs []pointRun) *cell.Generation {
	var told []*runner.Tokens
	for _, run := range runs {
		if run.Generation != nil && len(run.Generation.StreamsMS) > 0 {
			told = append(told, run.Generation)
		}
	}
	if len(told) == 0 {
		return checked
	}
	g := generated(told...)
	if checked != nil {
		g.AgreedTokens, g.OnePass = checked.AgreedTokens, checked.OnePass
		if g.IDs == nil {
			g.IDs = checked.IDs
		}
	}
	return g
}

// generated folds what children say, one for each repeat.
func generated(told ...*runner.Tokens) *cell.Generation {
	first := told[0]
	g := &cell.Generation{PromptTokens: first.PromptTokens, NewTokens: first.NewTokens, IDs: first.IDs}
	var prefills, firsts, each, between [][]float64
	for _, t := range told {
		var ttft, tpot, itl []float64
		for _, s := range t.StreamsMS {
			stream := measure.Stream(s)
			ttft, itl = append(ttft, stream.TTFT()), append(itl, stream.Between()...)
			if ms := stream.TPOT(); !math.IsNaN(ms) {
				tpot = append(tpot, ms)
			}
		}
		prefills, firsts = append(prefills, t.PrefillsMS), append(firsts, ttft)
		each, between = append(each, tpot), append(between, itl)
		g.StreamsMS = append(g.StreamsMS, t.StreamsMS)
		g.Strayed += others(first, t)
	}
	g.TTFT, g.TPOT, g.Between = spread(firsts), spread(each), spread(between)
	if s := spread(prefills); s != nil {
		g.PrefillMS = &s.Median
	}
	if g.TPOT != nil && g.TPOT.Median > 0 {
		rate := float64(first.Batch) * 1000 / g.TPOT.Median
		g.TokensPerS = &rate
	}
	return g
}

// others counts a repeat's generations that chose other tokens than the first
// repeat did.
func others(first, t *runner.Tokens) int {
	if first.IDs != nil && t.IDs != nil && !slices.EqualFunc(first.IDs, t.IDs, slices.Equal[[]int]) {
		return len(t.StreamsMS)
	}
	return t.Strayed
}

// spread is a time over the repeats; nil where there is none.
func spread(samples [][]float64) *cell.Spread {
	s := measure.Summarise(samples)
	if s.N == 0 {
		return nil
	}
	t := measure.TailsOf(samples)
	return &cell.Spread{Median: s.Median, Lo: s.Lo, Hi: s.Hi, P90: t.P90, P95: t.P95, P99: t.P99, N: s.N}
}
