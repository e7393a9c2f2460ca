package lab

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/runner"
)

// Times of a page that was out of view in one repeat are not to be relied on,
// and say so.
func TestAHiddenPageIsTold(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	steady := []float64{1, 1, 1, 1, 1, 1, 1, 1}
	for _, tc := range []struct {
		what   string
		hidden []*bool
		want   bool
	}{
		{"no page", []*bool{nil, nil, nil}, false},
		{"in view", []*bool{&no, &no, &no}, false},
		{"out of view once", []*bool{&no, &yes, &no}, true},
	} {
		var runs []pointRun
		for _, h := range tc.hidden {
			runs = append(runs, pointRun{Report: runner.Report{SamplesMS: steady, Hidden: h}})
		}
		l := latency(runs)
		if l.Hidden != tc.want || l.Stable == tc.want || (l.Why == hiddenPage) != tc.want {
			t.Errorf("%s: hidden %t, stable %t, %q", tc.what, l.Hidden, l.Stable, l.Why)
		}
	}
}

// TestASlowProcessorIsTheReason: repeats that spread are explained by the processor
// where a fixed loop beside them took longer too, and by nothing where it did not.
func TestASlowProcessorIsTheReason(t *testing.T) {
	t.Parallel()
	const why = "the processor itself was up to 1.5 times slower in 2 of 6 repeats than in the fastest"
	for name, c := range map[string]struct {
		times, paces []float64 // of each repeat; a pace of 0 is unknown
		says         bool
	}{
		"slower beside slow loops": {[]float64{4, 4, 6, 4, 6, 4}, []float64{0.30, 0.31, 0.45, 0.30, 0.40, 0.30}, true},
		"slower beside none":       {[]float64{4, 4, 6, 4, 6, 4}, []float64{0.30, 0.31, 0.30, 0.30, 0.32, 0.30}, false},
		"steady beside slow loops": {[]float64{4, 4, 4, 4, 4, 4}, []float64{0.30, 0.31, 0.45, 0.30, 0.40, 0.30}, false},
		"unknown":                  {[]float64{4, 4, 6, 4, 6, 4}, []float64{0.30, 0.31, 0, 0.30, 0.40, 0.30}, false},
	} {
		var runs []pointRun
		for i, ms := range c.times {
			r := runner.Report{SamplesMS: slices.Repeat([]float64{ms}, 20)}
			if c.paces[i] > 0 {
				r.PaceMS = []float64{c.paces[i], c.paces[i]}
			}
			runs = append(runs, pointRun{Report: r})
		}
		l := latency(runs)
		if strings.Contains(l.Why, why) != c.says {
			t.Errorf("%s: stable %v, %q", name, l.Stable, l.Why)
		}
		if known := !slices.Contains(c.paces, 0); known != (len(l.PaceMS) == len(c.times)) {
			t.Errorf("%s: paces %v", name, l.PaceMS)
		}
	}
}
