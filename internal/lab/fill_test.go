package lab

import (
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
