package atlas

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/clean"
)

// Change is a claim that two atlases have differently.
type Change struct {
	Type string `json:"type"`
	Column
	Kind   string `json:"kind"`   // gained, lost, verdict, evidence, reason
	Before string `json:"before"` // "works, measured"
	After  string `json:"after"`
}

// Difference is what differs between two atlases.
type Difference struct {
	Same    int            `json:"same"`   // claims that say the same, of what both have
	Counts  map[string]int `json:"counts"` // by kind
	Changes []Change       `json:"changes"`
}

// Diff compares two atlases. A type or a column that only one has is unknown in the
// other.
func Diff(before, after *Book) (Difference, error) {
	d := Difference{Counts: map[string]int{}, Changes: []Change{}}
	types := maps.Clone(before.lines)
	maps.Copy(types, after.lines)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		was, err := before.byColumn(name)
		if err != nil {
			return d, err
		}
		is, err := after.byColumn(name)
		if err != nil {
			return d, err
		}
		columns := maps.Clone(was)
		maps.Copy(columns, is)
		sorted := slices.SortedFunc(maps.Keys(columns), func(a, b Column) int { return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.DType, b.DType)) })
		for _, c := range sorted {
			kind := differs(was[c], is[c])
			if kind == "" {
				d.Same++
				continue
			}
			d.Counts[kind]++
			d.Changes = append(d.Changes, Change{name, c, kind, was[c].short(), is[c].short()})
		}
	}
	return d, nil
}

// byColumn are the claims of a type by their column; one that is not there is zero.
func (b *Book) byColumn(name string) (map[Column]Claim, error) {
	claims, err := b.Claims(name)
	out := map[Column]Claim{}
	for _, c := range claims {
		out[c.Column] = c
	}
	return out, err
}

// differs says how a claim changed; "" where it says the same.
func differs(was, is Claim) string {
	known := func(c Claim) bool { return c.Verdict != "" && c.Known() }
	switch {
	case !known(was) && !known(is):
		return ""
	case !known(was):
		return "gained"
	case !known(is):
		return "lost"
	case was.Verdict != is.Verdict:
		return "verdict"
	case was.Evidence != is.Evidence:
		return "evidence"
	case was.Class != is.Class:
		return "reason"
	}
	return ""
}

func (c Claim) short() string {
	if c.Verdict == "" || !c.Known() {
		return string(cell.Unknown)
	}
	text := fmt.Sprintf("%s, %s", c.Verdict, c.Evidence)
	if c.Class != "" {
		text += ", " + string(c.Class)
	}
	return text
}

// WriteText prints the changes, a line for each.
func (d Difference) WriteText(w io.Writer) error {
	for _, c := range d.Changes {
		if _, err := fmt.Fprintln(w, clean.Line(fmt.Sprintf("%s: %s on %s in %s: %s → %s", c.Kind, c.Type, c.Target, c.DType, c.Before, c.After))); err != nil {
			return err
		}
	}
	var counts []string
	for _, kind := range []string{"gained", "lost", "verdict", "evidence", "reason"} {
		counts = append(counts, fmt.Sprintf("%s %d", kind, d.Counts[kind]))
	}
	_, err := fmt.Fprintf(w, "%s; %d say the same\n", strings.Join(counts, ", "), d.Same)
	return err
}

// Lowered are the platforms of which less is measured than before, with the counts:
// a build that does so must say why.
func Lowered(before, after Quality) []string {
	var out []string
	for _, was := range before.Platforms {
		for _, is := range after.Platforms {
			n, m := was.ByEvidence[cell.Measured], is.ByEvidence[cell.Measured]
			if was.Platform == is.Platform && was.Types > 0 && is.Types > 0 && m*was.Types < n*is.Types {
				out = append(out, fmt.Sprintf("%s: measured %d of %d, before %d of %d", is.Platform, m, is.Types, n, was.Types))
			}
		}
	}
	return out
}
