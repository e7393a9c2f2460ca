package bisect

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// table is a Lab that looks answers up, and counts.
type table struct {
	states map[string]State
	asked  []string
}

func (l *table) Try(_ context.Context, release string) (Answer, error) {
	l.asked = append(l.asked, release)
	s, ok := l.states[release]
	if !ok {
		return Answer{}, errors.New("no such release")
	}
	return Answer{State: s}, nil
}

// lab makes releases r0, r1, … with these states.
func lab(states []State) ([]string, *table) {
	l := &table{states: map[string]State{}}
	var names []string
	for i, s := range states {
		names = append(names, fmt.Sprintf("r%d", i))
		l.states[names[i]] = s
	}
	return names, l
}

func search(t interface{ Fatal(...any) }, states []State, from int) (Outcome, []string, *table) {
	names, l := lab(states)
	o, err := Search(context.Background(), names, from, l)
	if err != nil {
		t.Fatal(err)
	}
	return o, names, l
}

// TestSearchFindsTheFirst: where good turns bad once, that is found, in at most
// log2(n)+1 answers, the ends among them.
func TestSearchFindsTheFirst(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 130; n++ {
		for first := 0; first <= n; first++ {
			states := slices.Concat(slices.Repeat([]State{Good}, first), slices.Repeat([]State{Bad}, n-first))
			o, names, l := search(t, states, 0)
			want := Outcome{Ending: Found, Releases: n, Between: []string{}, Answers: o.Answers}
			if first > 0 {
				want.LastGood = names[first-1]
			} else {
				want.Ending = AllBad
			}
			if first < n {
				want.FirstBad = names[first]
			} else {
				want.Ending = NeverBad
			}
			if d := cmp.Diff(want, o); d != "" {
				t.Fatalf("%d releases, bad from %d on (-want +got):\n%s", n, first, d)
			}
			if most := bits.Len(uint(n)); len(l.asked) > most { // floor(log2(n)) + 1
				t.Fatalf("%d releases, bad from %d on: %d asked, %d allowed", n, first, len(l.asked), most)
			}
		}
	}
}

// TestTwentyReleasesTakeSix is the bar: also where the first is made as a reference.
func TestTwentyReleasesTakeSix(t *testing.T) {
	t.Parallel()
	for first := 1; first <= 20; first++ {
		states := slices.Concat(slices.Repeat([]State{Good}, first), slices.Repeat([]State{Bad}, 20-first))
		_, _, l := search(t, states, 1)
		if n := 1 + len(l.asked); n > 6 || slices.Contains(l.asked, "r0") {
			t.Errorf("bad from %d on: %d environments, asked %v", first, n, l.asked)
		}
	}
}

// TestSearchIsSound: whatever the releases say, each is asked at most once, what is
// named was tested and is what it is said to be, and all between the two is untestable.
func TestSearchIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		states := rapid.SliceOfN(rapid.SampledFrom([]State{Good, Bad, Untestable}), 0, 60).Draw(t, "states")
		o, names, l := search(t, states, 0)
		if sorted := slices.Sorted(slices.Values(l.asked)); len(slices.Compact(sorted)) != len(l.asked) {
			t.Fatalf("asked twice: %v", l.asked)
		}
		lo, hi := slices.Index(names, o.LastGood), slices.Index(names, o.FirstBad)
		if o.LastGood != "" && (states[lo] != Good || !slices.Contains(l.asked, o.LastGood)) {
			t.Fatalf("last good %s: %s, asked %v", o.LastGood, states[lo], l.asked)
		}
		if o.FirstBad == "" {
			hi = len(states)
		} else if states[hi] != Bad || !slices.Contains(l.asked, o.FirstBad) {
			t.Fatalf("first bad %s: %s, asked %v", o.FirstBad, states[hi], l.asked)
		}
		if lo >= hi || len(o.Between) != hi-lo-1 {
			t.Fatalf("%d to %d with %v between", lo, hi, o.Between)
		}
		for i := lo + 1; i < hi; i++ {
			if states[i] != Untestable || !slices.Contains(l.asked, names[i]) {
				t.Fatalf("%s lies between and is %s", names[i], states[i])
			}
		}
		if len(o.Answers) != len(l.asked) || o.Asked() != len(l.asked) {
			t.Fatalf("%d answers for %d questions", len(o.Answers), len(l.asked))
		}
	})
}

// TestSearchBelievesTheEnds: where the first is good and the last bad, a pair is found
// however the others alternate.
func TestSearchBelievesTheEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inner := rapid.SliceOfN(rapid.SampledFrom([]State{Good, Bad, Untestable}), 0, 40).Draw(t, "inner")
		o, _, _ := search(t, slices.Concat([]State{Good}, inner, []State{Bad}), 0)
		if o.Ending != Found && o.Ending != Narrowed {
			t.Fatalf("it ended %s", o.Ending)
		}
		if (o.Ending == Found) != (len(o.Between) == 0) {
			t.Fatalf("%s with %v between", o.Ending, o.Between)
		}
	})
}

// TestUntestableCostOneEach: what cannot be tested costs at most one answer for each.
func TestUntestableCostOneEach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		first := rapid.IntRange(0, n).Draw(t, "first")
		states := slices.Concat(slices.Repeat([]State{Good}, first), slices.Repeat([]State{Bad}, n-first))
		holes := 0
		for i := range states {
			if rapid.IntRange(0, 3).Draw(t, "hole") == 0 {
				states[i] = Untestable
			}
		}
		o, _, _ := search(t, states, 0)
		for _, a := range o.Answers {
			if a.State == Untestable {
				holes++
			}
		}
		// Beside a hole the halves are not equal: each hole may cost one more.
		if most := bits.Len(uint(n)) + 2*holes; len(o.Answers) > most {
			t.Fatalf("%d answers for %d releases with %d holes asked", len(o.Answers), n, holes)
		}
	})
}

func TestSearchEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		states []State
		want   Ending
	}{
		"none":             {nil, Nothing},
		"nothing to test":  {[]State{Untestable, Untestable}, Nothing},
		"never bad":        {[]State{Good, Good, Untestable}, NeverBad},
		"all bad":          {[]State{Untestable, Bad, Bad}, AllBad},
		"a hole between":   {[]State{Good, Untestable, Bad}, Narrowed},
		"a hole elsewhere": {[]State{Good, Bad, Untestable, Bad}, Found},
	} {
		if o, _, _ := search(t, row.states, 0); o.Ending != row.want {
			t.Errorf("%s: it ended %s, not %s", name, o.Ending, row.want)
		}
	}
}

// TestSearchStops: an error ends it with what was learned, and so does no answer.
func TestSearchStops(t *testing.T) {
	t.Parallel()
	_, l := lab([]State{Good})
	if _, err := Search(t.Context(), []string{"r7"}, 0, l); err == nil {
		t.Error("an error of the lab is lost")
	}
	names, l := lab([]State{"perhaps"})
	if _, err := Search(t.Context(), names, 0, l); err == nil {
		t.Error("perhaps is taken for an answer")
	}
}

// TestKeep: a second search asks nothing; an error is not kept; a damaged file is not
// written over.
func TestKeep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "answers.json")
	names, l := lab([]State{Good, Untestable, Good, Bad, Bad})
	var outcomes []Outcome
	for range 2 {
		kept, err := Keep(l, path)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Search(t.Context(), names, 0, kept)
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, o)
		if _, err := kept.Try(t.Context(), "r9"); err == nil {
			t.Error("an error is lost")
		}
	}
	first, again := outcomes[0], outcomes[1]
	if again.FirstBad != "r3" || first.FirstBad != "r3" || first.Asked() == 0 || again.Asked() != 0 {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Keep(l, path); err == nil {
		t.Error("a damaged file is taken for answers")
	}
}
