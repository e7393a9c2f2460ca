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
