package atlas

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Tried is a version of the target's main library that somebody tried, and what came
// of it.
type Tried struct {
	Library string       `json:"library"`
	Version string       `json:"version"`
	Verdict cell.Verdict `json:"verdict"`
}

// library is the one that matters most on a target.
func library(target string) string {
	t, err := platform.ParseTarget(target)
	switch {
	case err != nil:
		return ""
	case t.Engine.Traits().Pages:
		return "onnxruntime-web"
	case len(t.Engine.Traits().Libraries) == 0:
		return ""
	}
	return t.Engine.Traits().Libraries[0]
}

// tried are the versions of the main library with which what speaks was tried, in
// its dtype and about the same thing, each once: of several results of one the newest.
func tried(lead Sourced, claims []Sourced) []Tried {
	name := library(lead.Target)
	newest := map[string]Sourced{}
	for _, c := range claims {
		v := c.Versions[name]
		if v == "" || c.Column != lead.Column || c.exact != lead.exact || !c.Known() {
			continue
		}
		if old, ok := newest[v]; !ok || c.At.After(old.At) {
			newest[v] = c
		}
	}
	var out []Tried
	for v, c := range newest {
		out = append(out, Tried{name, v, c.Verdict})
	}
	slices.SortFunc(out, func(a, b Tried) int { return compareVersions(a.Version, b.Version) })
	return out
}

// compareVersions orders versions part by part, numbers as numbers.
func compareVersions(a, b string) int {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '+' || r == '-' })
	}
	x, y := split(a), split(b)
	for i := range min(len(x), len(y)) {
		m, err := strconv.Atoi(x[i])
		n, other := strconv.Atoi(y[i])
		if c := cmp.Compare(m, n); err == nil && other == nil && c != 0 {
			return c
		}
		if c := strings.Compare(x[i], y[i]); (err != nil || other != nil) && c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// verbs are what came of a version.
var verbs = map[cell.Verdict]string{cell.Works: "worked", cell.Partial: "ran partly", cell.Fails: "failed", cell.Unavailable: "could not be run"}

// withVersions says with which versions a verdict was reached. A range stands only
// between two that were tried, with nothing tried between them that came out otherwise.
func (l Line) withVersions() string {
	var same, others []string
	first, last := -1, -1
	for i, t := range l.Tried {
		if t.Verdict == l.ran {
			same = append(same, t.Version)
			if first < 0 {
				first = i
			}
			last = i
			continue
		}
		others = append(others, fmt.Sprintf("%s with %s", verbs[t.Verdict], t.Version))
	}
	switch {
	case len(same) == 0:
		return ""
	case cmp.Or(l.Basis, l.Evidence).Unrun(): // nothing ran: a table of this version says so
		return l.Tried[0].Library + " " + strings.Join(same, ", ")
	}
	text := fmt.Sprintf("%s with %s ", verbs[l.ran], l.Tried[0].Library)
	switch {
	case len(same) == 1:
		text += same[0]
	case last-first+1 == len(same):
		text += fmt.Sprintf("%s to %s (%d versions tried)", same[0], same[len(same)-1], len(same))
	default:
		text += strings.Join(same, ", ")
	}
	if len(others) > 0 {
		text += ", " + strings.Join(others, ", ")
	}
	return text + ", others not tried"
}
