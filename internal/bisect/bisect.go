// Package bisect finds the release of a package with which something began to go
// wrong.
//
// The search is pure: it is given the releases in order and a Lab that tells for one
// release whether it is good, bad, or cannot be tested. It believes nobody: the first
// and the last release are asked for too, but only when the answer depends on them, so
// that n releases take at most log2(n)+1 answers. Both releases of the pair that it
// names were tested, whatever the releases between them would have said: where good and
// bad alternate it names one of the changes from good to bad. A release that cannot be
// tested costs an answer of its own, and those next to the change are named.
//
// What asks a Lab is slow (an environment of gigabytes, a run), so answers are kept in
// a file (Keep) and a search that is asked for again goes on where it was.
package bisect

import (
	"context"
	"fmt"
)

// State is what is known of one release.
type State string

// The states.
const (
	Good       State = "good"
	Bad        State = "bad"
	Untestable State = "untestable" // it cannot be installed, or nothing can be learned with it
)

// Answer is what was found out about one release.
type Answer struct {
	Release string  `json:"release"`
	State   State   `json:"state"`
	Why     string  `json:"why"`     // in a few words: the verdict, the ratio, what kept it from being tested
	Kept    bool    `json:"kept"`    // found out by an earlier search
	Seconds float64 `json:"seconds"` // it took, environment included; of the search that found it out
	// Fleeting may be otherwise tomorrow (an installer that broke), so it is not kept.
	Fleeting bool `json:"-"`
}

// Lab answers for a release. An error ends the search: what is wrong with one release
// is an answer, Untestable. It is called for one release at a time.
type Lab interface {
	Try(ctx context.Context, release string) (Answer, error)
}

// Ending is how a search ended.
type Ending string

// The endings.
const (
	Found    Ending = "found"     // the first bad release follows the last good one
	Narrowed Ending = "narrowed"  // releases between the two cannot be tested
	NeverBad Ending = "never-bad" // the last release that can be tested is good
	AllBad   Ending = "all-bad"   // the first release that can be tested is bad
	Nothing  Ending = "nothing"   // no release can be tested
)

// Outcome is what a search found.
type Outcome struct {
	Ending   Ending   `json:"ending"`
	LastGood string   `json:"last_good"` // "" where none is
	FirstBad string   `json:"first_bad"` // likewise
	Between  []string `json:"between"`   // untestable releases next to the change
	Releases int      `json:"releases"`
	Answers  []Answer `json:"answers"` // in the order in which they were asked for
}

// Asked is how many answers were not kept from an earlier search.
func (o Outcome) Asked() int {
	n := 0
	for _, a := range o.Answers {
		if !a.Kept {
			n++
		}
	}
	return n
}

// Search finds where good turns bad in releases, which are in order, oldest first. from
// is the number of releases at the beginning that are known to be good.
func Search(ctx context.Context, releases []string, from int, lab Lab) (Outcome, error) {
	o := Outcome{Releases: len(releases), Between: []string{}, Answers: []Answer{}}
	lo, hi := from-1, len(releases) // the last that is good, the first that is bad
	skipped := make([]bool, len(releases))
	for {
		at := middle(lo, hi, skipped)
		if at < 0 {
			o.end(releases, lo, hi)
			return o, nil
		}
		a, err := lab.Try(ctx, releases[at])
		if err != nil {
			return o, err
		}
		a.Release = releases[at]
		o.Answers = append(o.Answers, a)
		switch a.State {
		case Good:
			lo = at
		case Bad:
			hi = at
		case Untestable:
			skipped[at] = true
		default:
			return o, fmt.Errorf("%s: %q is no answer", releases[at], a.State)
		}
	}
}

// middle is the release nearest to the middle between lo and hi that may be tested,
// or -1.
func middle(lo, hi int, skipped []bool) int {
	mid := lo + (hi-lo)/2
	for away := range hi - lo {
		for _, at := range []int{mid - away, mid + away} {
			if at > lo && at < hi && !skipped[at] {
				return at
			}
		}
	}
	return -1
}

func (o *Outcome) end(releases []string, lo, hi int) {
	if lo >= 0 {
		o.LastGood = releases[lo]
	}
	if hi < len(releases) {
		o.FirstBad = releases[hi]
	}
	o.Between = append(o.Between, releases[lo+1:hi]...)
	switch {
	case o.LastGood == "" && o.FirstBad == "":
		o.Ending = Nothing
	case o.FirstBad == "":
		o.Ending = NeverBad
	case o.LastGood == "":
		o.Ending = AllBad
	case len(o.Between) > 0:
		o.Ending = Narrowed
	default:
		o.Ending = Found
	}
}
