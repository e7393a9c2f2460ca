package session

import (
	"slices"
	"testing"
)

// TestRunnersAreHeardOnce: what makes every cell slow is told with the first
// plan, and not again.
func TestRunnersAreHeardOnce(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	s.untold = []string{"importing culprit started a thread"}
	var told []string
	for range 2 {
		s.tell(func(text string) { told = append(told, text) })
	}
	if !slices.Equal(told, []string{"importing culprit started a thread"}) {
		t.Errorf("told %q", told)
	}
}
