package measure

import (
	"fmt"
	"math"
	"slices"
)

// Comparison sets b beside a. A Ratio below 1 means that b's values are smaller:
// for latencies, that b is faster.
type Comparison struct {
	RepeatsA, RepeatsB int
	MedianA, MedianB   float64
	// Ratio is MedianB over MedianA.
	Ratio float64
	// Lo and Hi hold the true ratio with Confidence; nil when either side
	// has fewer than MinRepeats repeats.
	Lo, Hi *float64
	// P is the probability, were there no difference, of repeats at least as
	// unlike as these; nil when a side has no samples.
	P *float64
	// Warnings belong beside the numbers wherever they are shown.
	Warnings []string
}

// Differs reports whether the comparison speaks of a difference.
func (c Comparison) Differs() bool { return c.P != nil && *c.P < 1-Confidence }

// Compare compares the repeats of two cells by their medians.
//
// The interval is that of Moses, from the order statistics of all ratios of a
// repeat of b to a repeat of a, at the ranks that the U test's own distribution
// gives. It was preferred to a bootstrap because it is exact for as few as six
// repeats a side (where a bootstrap of medians is far too narrow), needs no
// seed, and agrees with the test: without ties, 1 lies outside the interval
// just when p < 0.05. It is an interval of the one factor by which b's
// distribution is a scaled a's; where the shapes differ so much that the ratio
// of medians would fall outside, it is widened to hold it.
func Compare(a, b [][]float64) Comparison {
	ma, mb := Medians(a), Medians(b)
	c := Comparison{RepeatsA: len(ma), RepeatsB: len(mb), MedianA: math.NaN(), MedianB: math.NaN(), Ratio: math.NaN()}
	if len(ma) == 0 || len(mb) == 0 {
		c.Warnings = []string{"a side has no samples: nothing can be compared"}
		return c
	}
	c.MedianA, c.MedianB = Median(ma), Median(mb)
	c.Ratio = c.MedianB / c.MedianA
	p := uTest(ma, mb)
	c.P = &p
	if fewest := min(len(ma), len(mb)); fewest < MinRepeats {
		c.Warnings = append(c.Warnings, fmt.Sprintf("no interval: %s, at least %d are needed on each side", repeats(fewest), MinRepeats))
	} else {
		c.Lo, c.Hi = ratioInterval(ma, mb, c.Ratio)
	}
	if least := leastP(len(ma), len(mb)); least >= 1-Confidence {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d against %s cannot show a difference: the least possible p is %.2f", len(ma), repeats(len(mb)), least))
	}
	c.Warnings = append(c.Warnings, unstable("a", a)...)
	c.Warnings = append(c.Warnings, unstable("b", b)...)
	return c
}

func unstable(side string, samples [][]float64) []string {
	if s := Summarise(samples); !s.Stable {
		return []string{fmt.Sprintf("side %s is not stable: %s", side, s.Why)}
	}
	return nil
}

func ratioInterval(a, b []float64, ratio float64) (lo, hi *float64) {
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			ratios = append(ratios, y/x)
		}
	}
	slices.Sort(ratios)
	k := criticalU(len(a), len(b))
	l, h := min(ratios[k-1], ratio), max(ratios[len(ratios)-k], ratio)
	return &l, &h
}

func repeats(n int) string {
	if n == 1 {
		return "1 repeat"
	}
	return fmt.Sprintf("%d repeats", n)
}
