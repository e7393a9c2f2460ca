package measure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Stream is one generation: when each token was known, in milliseconds since
// it was asked for. Tokens that came together have the same time; there is one
// entry for each token, never for each chunk.
type Stream []float64

// Check says what is wrong with a stream of which so many tokens were asked for.
func (s Stream) Check(asked int) error {
	if len(s) != asked {
		return fmt.Errorf("a generation has the times of %d tokens, and %d were asked for", len(s), asked)
	}
	last := 0.0
	for i, at := range s {
		if !(at >= last) || math.IsInf(at, 0) {
			return fmt.Errorf("token %d of a generation is known at %g ms, and the one before it at %g ms", i+1, at, last)
		}
		last = at
	}
	return nil
}

// TTFT is the time to the first token; NaN where there is none.
func (s Stream) TTFT() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return s[0]
}

// E2E is the time to the last token; NaN where there is none.
func (s Stream) E2E() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return s[len(s)-1]
}

// TPOT is the time per output token after the first: what the first took, with
// all reading of the prompt, is no part of it. NaN with fewer than two tokens.
func (s Stream) TPOT() float64 {
	if len(s) < 2 {
		return math.NaN()
	}
	return (s.E2E() - s.TTFT()) / float64(len(s)-1)
}

// Between are the times between tokens, one for each but the first. Of tokens
// that came together each took its share of the wait for them; what came with
// the first took nothing more. Their sum is E2E less TTFT, and their mean is TPOT.
func (s Stream) Between() []float64 {
	out := make([]float64, 0, max(0, len(s)-1))
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		each := 0.0
		if i > 0 {
			each = (s[i] - s[i-1]) / float64(n)
		}
		for k := range n {
			if i+k > 0 {
				out = append(out, each)
			}
		}
		i += n
	}
	return out
}

// earlyStopping is the confidence of MLPerf's rule.
const earlyStopping = 0.99

// Tail is percentile p of independent samples by MLPerf's rule of early
// stopping: the smallest sample of which it can be said with a confidence of
// 0.99 that p of all there could be do not exceed it. It is above the sample's own
// percentile, the more so the fewer there are; nil when there are too few.
func Tail(samples []float64, p float64) *float64 {
	over := Over(len(samples), p)
	if over == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(samples))
	return &sorted[len(sorted)-over]
}

// Over is how many of n samples, counted from the largest, the rule of early
// stopping lets lie at or above its estimate of percentile p: the most of which
// at most so many would be seen, if less than p of all were below, with a probability of 1 − 0.99 or
// less. 0 is too few samples.
func Over(n int, p float64) int {
	beyond := distuv.Binomial{N: float64(n), P: 1 - p}
	over := 0
	for over < n && beyond.CDF(float64(over+1)) <= 1-earlyStopping {
		over++
	}
	return over
}

// Tails are the percentiles of pooled samples by the rule of early stopping; nil
// are those that there are too few for.
type Tails struct{ P90, P95, P99 *float64 }

// TailsOf are the tails of the repeats' samples, pooled.
func TailsOf(samples [][]float64) Tails {
	all := slices.Concat(samples...)
	return Tails{Tail(all, 0.90), Tail(all, 0.95), Tail(all, 0.99)}
}
