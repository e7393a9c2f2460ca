package cell

import (
	"fmt"
	"strings"
)

// Tally counts what the exit status of a program depends on.
type Tally struct {
	Failing int // cells that fail; in a strict plan also those that are partial
	Absent  int // in a strict plan, cells that ran nowhere
	Broken  int // cells of which the machine lets nobody know
	// Unsuited is the first cell that asked for something that its model cannot
	// have; nil where there is none, or where others suit and the plan is not
	// strict.
	Unsuited *Result

	beyond int // of the absent, for what Assay cannot do there
}

// Count counts the results of a plan.
func Count(results []Result, strict bool) Tally {
	var t Tally
	suits := false
	for i, r := range results {
		switch {
		case r.Fallback != nil && r.Fallback.From != "" && r.Fallback.To != "": // nobody asked for it, and it went on
		case r.Verdict == Fails, strict && (r.Verdict == Partial || len(r.Broken()) > 0):
			t.Failing++
		case strict && r.Verdict == Unavailable && r.Suits():
			t.Absent++
		case r.Verdict == Unknown:
			t.Broken++
		}
		if r.Verdict == Unavailable && r.Failure != nil && r.Failure.Class == BeyondAssay {
			t.beyond++
		}
		if r.Suits() {
			suits = true
		} else if t.Unsuited == nil {
			t.Unsuited = &results[i]
		}
	}
	if suits && !strict {
		t.Unsuited = nil
	}
	return t
}

// Lacking says why requested cells ran nowhere: there is no device, or
// Assay cannot do there what was asked.
func (t Tally) Lacking() string {
	var parts []string
	if n := t.Absent - t.beyond; n > 0 {
		parts = append(parts, number(n, "requested cell has", "requested cells have")+" no device here")
	}
	if t.beyond > 0 {
		parts = append(parts, number(t.beyond, "requested cell is", "requested cells are")+" beyond what Assay can do there: see above")
	}
	return strings.Join(parts, "; ")
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
