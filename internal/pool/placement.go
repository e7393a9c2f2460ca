package pool

import (
	"cmp"
	"slices"
)

// order puts places in the order in which they are tried: those that have memory
// free now before those that others must leave first; then the family's order, in
// which those that were timed on this machine change places by their times. What
// nobody timed keeps its place. The places of an asked platform keep their order:
// a fallback is never preferred.
func order(places []Place, asked bool, free func(Place) bool) []Place {
	out := slices.Clone(places)
	if asked {
		return out
	}
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(a.Rank, b.Rank) })
	byTime(out)
	slices.SortStableFunc(out, func(a, b Place) int { return first(free(a), free(b)) })
	return out
}

// byTime sorts the places that were timed among themselves.
func byTime(places []Place) {
	var at []int
	var timed []Place
	for i, p := range places {
		if p.MedianMS > 0 {
			at, timed = append(at, i), append(timed, p)
		}
	}
	slices.SortStableFunc(timed, func(a, b Place) int { return cmp.Compare(a.MedianMS, b.MedianMS) })
	for i, p := range timed {
		places[at[i]] = p
	}
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
