package cell

import (
	"slices"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]int{"": nil, "0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "5, 2,2-3": {2, 3, 5}} {
		if got, err := ParseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"x", "3-1", "-1", "0,", "0-99999999", "1-2-3"} {
		if got, err := ParseCPUs(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}

// TestPlanTimes: no time of a plan is negative, or so long that a duration could not hold it.
func TestPlanTimes(t *testing.T) {
	t.Parallel()
	for seconds, right := range map[float64]bool{0: true, 0.5: true, mostSeconds: true, -1: false, 1e308: false, mostSeconds + 1: false} {
		for _, p := range []Plan{{TimeoutS: seconds}, {WaitQuietS: seconds}} {
			p.Cells = []Cell{{Type: "bert"}}
			if _, err := p.Normal(); (err == nil) != right {
				t.Errorf("%v seconds: %v", seconds, err)
			}
		}
	}
}
