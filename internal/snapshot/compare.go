package snapshot

import (
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
)

// Difference is what changed from an old snapshot to a new one. Lists are
// empty where nothing changed and nil where a side knows nothing to compare.
type Difference struct {
	Schema  int           `json:"schema"`
	Old     Side          `json:"old"`
	New     Side          `json:"new"`
	Added   []catalog.Row `json:"added"`
	Removed []catalog.Row `json:"removed"`
	Changed []Change      `json:"changed"`

	Broken  []Turn    `json:"broken"`  // ran before and no longer do
	Mended  []Turn    `json:"mended"`  // failed before and run now
	Other   []Turn    `json:"other"`   // works became partial, or the reverse, or it fails otherwise
	Failing []Outcome `json:"failing"` // fail, and were not tried before
	// Answers are models that run on both sides and give something else for the
	// same weights and inputs; NotComparable those whose weights are others.
	Answers       []Answer `json:"answers"`
	NotComparable []Answer `json:"not_comparable"`
}

// Side says what a snapshot was.
type Side struct {
	Name         string `json:"name"` // as the user named it
	Transformers string `json:"transformers,omitempty"`
	Types        int    `json:"types"`
	Outcomes     int    `json:"outcomes"`
}

// Change is a field of a type that is not what it was.
type Change struct {
	Type  string `json:"type"`
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Turn is an outcome that is not what it was. New is nil when the type is gone.
type Turn struct {
	Old Outcome  `json:"old"`
	New *Outcome `json:"new"`
}

// fields are what is compared of a type.
var fields = []struct {
	name string
	of   func(catalog.Row) string
}{
	{"class", func(r catalog.Row) string { return r.Class }},
	{"task", func(r catalog.Row) string { return r.Task }},
	{"tasks", func(r catalog.Row) string { return sorted(r.Tasks) }},
	{"inputs", func(r catalog.Row) string { return sorted(r.Inputs) }},
	{"family", func(r catalog.Row) string { return r.Family }},
	{"families", func(r catalog.Row) string { return sorted(r.Families) }},
	{"pipeline", func(r catalog.Row) string { return r.Pipeline }},
}

func sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// Compare tells what changed.
func Compare(before, after Snapshot) Difference {
	d := Difference{Schema: cell.Schema, Old: sideOf(before), New: sideOf(after)}
	if before.Types != nil && after.Types != nil {
		d.compareTypes(before.Types, after.Types)
	}
	if before.Outcomes != nil && after.Outcomes != nil {
		d.compareOutcomes(before.Outcomes, after)
	}
	return d
}

func sideOf(s Snapshot) Side {
	return Side{Transformers: s.Transformers, Types: len(s.Types), Outcomes: len(s.Outcomes)}
}

func (d *Difference) compareTypes(before, after []catalog.Row) {
	d.Added, d.Removed, d.Changed = []catalog.Row{}, []catalog.Row{}, []Change{}
	old := byType(before)
	for _, now := range after {
		was, known := old[now.Type]
		if !known {
			d.Added = append(d.Added, now)
			continue
		}
		for _, f := range fields {
			if o, n := f.of(was), f.of(now); o != n {
				d.Changed = append(d.Changed, Change{now.Type, f.name, o, n})
			}
		}
	}
	kept := byType(after)
	for _, was := range before {
		if _, ok := kept[was.Type]; !ok {
			d.Removed = append(d.Removed, was)
		}
	}
}

func byType(rows []catalog.Row) map[string]catalog.Row {
	out := make(map[string]catalog.Row, len(rows))
	for _, r := range rows {
		out[r.Type] = r
	}
	return out
}

func (d *Difference) compareOutcomes(before []Outcome, after Snapshot) {
	d.Broken, d.Mended, d.Other, d.Failing = []Turn{}, []Turn{}, []Turn{}, []Outcome{}
	d.Answers, d.NotComparable = []Answer{}, []Answer{}
	now := map[cell.Key]Outcome{}
	for _, o := range after.Outcomes {
		now[o.key()] = o
	}
	known := byType(after.Types)
	for _, was := range before {
		is, tried := now[was.key()]
		delete(now, was.key())
		if tried {
			d.turn(was, is)
			continue
		}
		// What was not tried again says nothing, unless the type itself is gone.
		if _, there := known[was.Type]; !there && after.Types != nil && was.runs() {
			d.Broken = append(d.Broken, Turn{Old: was})
		}
	}
	for _, o := range now {
		if o.Verdict == cell.Fails {
			d.Failing = append(d.Failing, o)
		}
	}
	sortOutcomes(d.Failing)
}

// turn files an outcome that is known on both sides, if it changed. What ran on one
// side and was only judged on the other is neither broken nor fixed by that.
func (d *Difference) turn(was, is Outcome) {
	t := Turn{was, &is}
	d.answer(was, is)
	alike := was.Evidence.Unrun() == is.Evidence.Unrun()
	switch {
	case alike && was.runs() && is.Verdict == cell.Fails:
		d.Broken = append(d.Broken, t)
	case alike && was.Verdict == cell.Fails && is.runs():
		d.Mended = append(d.Mended, t)
	case was.Verdict != is.Verdict || was.Class != is.Class:
		d.Other = append(d.Other, t)
	}
}

// Answer is a model whose answers are not, or may not be, what they were.
type Answer struct {
	Outcome Outcome      `json:"outcome"`
	Changed cell.Changed `json:"changed"`
}

// answer compares what a model gave before and gives now.
func (d *Difference) answer(was, is Outcome) {
	if was.Given == nil || is.Given == nil || !was.runs() || !is.runs() {
		return
	}
	c := was.Given.Since(d.Old.release(), is.Given.Subject, &is.Given.Fingerprint)
	is.Given = nil // its numbers say nothing to a reader
	switch {
	case c == nil:
	case c.NotComparable != "":
		d.NotComparable = append(d.NotComparable, Answer{is, *c})
	default:
		d.Answers = append(d.Answers, Answer{is, *c})
	}
}

func (s Side) release() string {
	if s.Transformers == "" {
		return "the old side"
	}
	return "transformers " + s.Transformers
}
