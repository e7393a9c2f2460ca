package compare

import (
	"fmt"
	"slices"

	"assay/internal/cell"
)

// Kind is how a result is not what it was.
type Kind string

// The kinds, the worst first.
const (
	Broken    Kind = "broken"          // ran, and fails
	Lost      Kind = "lost"            // ran, and is not available
	Lesser    Kind = "partly"          // worked, and works partly
	Weaker    Kind = "weaker evidence" // was measured, and is only derived
	Moved     Kind = "moved"           // operations run elsewhere
	LessRight Kind = "less accurate"   // further from the reference
	Otherwise Kind = "fails otherwise" // failed, and fails in another way
	Fixed     Kind = "fixed"           // failed, and runs
	Whole     Kind = "wholly"          // worked partly, and works
	Stronger  Kind = "stronger evidence"
	Returned  Kind = "returned" // operations that ran elsewhere do not any more
	MoreRight Kind = "more accurate"
)

var kinds = []Kind{Broken, Lost, Lesser, Weaker, Moved, LessRight, Otherwise, Fixed, Whole, Stronger, Returned, MoreRight}

// worse are the kinds that make a regression.
var worse = []Kind{Broken, Lost, Lesser, Weaker, Moved, LessRight}

// Turn is a result that is not what it was.
type Turn struct {
	Cell   Named  `json:"cell"`
	Kind   Kind   `json:"kind"`
	Worse  bool   `json:"worse"`
	A      string `json:"a"`
	B      string `json:"b"`
	Detail string `json:"detail,omitempty"`
	Hint   string `json:"hint,omitempty"`
	RunA   string `json:"run_a,omitempty"`
	RunB   string `json:"run_b,omitempty"`
}

func (t Turn) order() int { return slices.Index(kinds, t.Kind) }

// turns are all that changed of a pair beside its numbers. One that no longer runs
// has nothing else to tell.
func turns(p Pair) []Turn {
	a, b := p.A.Result, p.B.Result
	turn := func(k Kind, was, is, detail string) []Turn {
		t := Turn{Cell: p.named(), Kind: k, Worse: slices.Contains(worse, k), A: was, B: is, Detail: detail, RunA: p.A.Run, RunB: p.B.Run}
		if b.Failure != nil {
			t.Hint = b.Failure.Hint
		}
		return []Turn{t}
	}
	ranA, ranB := ran(a), ran(b)
	switch {
	case a.Evidence.Unrun() != b.Evidence.Unrun() && tells(a) && tells(b): // what was only judged neither breaks nor fixes
		if a.Evidence.Unrun() {
			return turn(Stronger, said(a), said(b), "")
		}
		return turn(Weaker, said(a), said(b), b.Note)
	case ranA && b.Verdict == cell.Fails:
		return turn(Broken, said(a), said(b), why(b))
	case ranA && b.Verdict == cell.Unavailable:
		return turn(Lost, said(a), said(b), why(b))
	case a.Verdict == cell.Fails && ranB:
		return turn(Fixed, said(a), said(b), "")
	case a.Verdict == cell.Fails && b.Verdict == cell.Fails && class(a) != class(b):
		return turn(Otherwise, class(a), class(b), why(b))
	case !ranA || !ranB:
		return nil
	case a.Verdict == cell.Works && b.Verdict == cell.Partial:
		return turn(Lesser, said(a), said(b), b.Note)
	case a.Verdict == cell.Partial && b.Verdict == cell.Works:
		return turn(Whole, said(a), said(b), "")
	}
	return slices.Concat(strength(a, b, turn), placement(a, b, turn), numerics(a, b, turn))
}

type makeTurn func(k Kind, was, is, detail string) []Turn

func strength(a, b *cell.Result, turn makeTurn) []Turn {
	switch was, is := a.Evidence.Strength(), b.Evidence.Strength(); {
	case is < was:
		return turn(Weaker, string(a.Evidence), string(b.Evidence), b.Note)
	case is > was:
		return turn(Stronger, string(a.Evidence), string(b.Evidence), "")
	}
	return nil
}

// placement compares how many operations ran where they were not asked to.
func placement(a, b *cell.Result, turn makeTurn) []Turn {
	if a.Placement == nil || b.Placement == nil {
		return nil
	}
	was, is := leftOver(a.Placement), leftOver(b.Placement)
	words := func(n int) string { return fmt.Sprintf("%d operations elsewhere", n) }
	switch {
	case is > was:
		return turn(Moved, words(was), words(is), strayed(b.Placement))
	case is < was:
		return turn(Returned, words(was), words(is), "")
	case a.Cell.Target == b.Cell.Target && a.Placement.Device != b.Placement.Device:
		return turn(Moved, a.Placement.Device, b.Placement.Device, "")
	}
	return nil
}

func leftOver(p *cell.Placement) int {
	n := 0
	for _, l := range p.LeftOver {
		n += l.Count
	}
	return n
}

func strayed(p *cell.Placement) string {
	out := ""
	for _, l := range p.LeftOver {
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf("%d × %s on %s", l.Count, l.Operator, l.Where)
	}
	return out
}

// Errors have grown when they are four times as large and more than a hundredth of
// what is tolerated: below that they are roundings, which any release moves.
const (
	grown      = 4.0
	noticeable = 0.01
)

func numerics(a, b *cell.Result, turn makeTurn) []Turn {
	x, y := a.Numerics, b.Numerics
	if x == nil || y == nil || x.MaxRel == nil || y.MaxRel == nil || x.Reference != y.Reference || a.SubjectHash != b.SubjectHash {
		return nil
	}
	was, is := *x.MaxRel, *y.MaxRel
	words := func(v float64, n *cell.Numerics) string { return fmt.Sprintf("error %.1e of %.0e", v, n.Tolerance) }
	switch {
	case is > grown*was && is > noticeable*y.Tolerance:
		return turn(LessRight, words(was, x), words(is, y), "against "+y.Reference)
	case was > grown*is && was > noticeable*x.Tolerance:
		return turn(MoreRight, words(was, x), words(is, y), "against "+y.Reference)
	}
	return nil
}

func ran(r *cell.Result) bool { return r.Verdict == cell.Works || r.Verdict == cell.Partial }

// tells reports whether a result says that the model runs or that it fails.
func tells(r *cell.Result) bool { return ran(r) || r.Verdict == cell.Fails }

func said(r *cell.Result) string {
	word := cell.Shown(r.Verdict, r.Evidence).Word()
	if r.Failure != nil {
		return word + " (" + string(r.Failure.Class) + ")"
	}
	if r.Evidence != cell.Measured && r.Evidence != cell.None {
		return word + " (" + string(r.Evidence) + ")"
	}
	return word
}

func class(r *cell.Result) string {
	if r.Failure == nil {
		return ""
	}
	return string(r.Failure.Class)
}

func why(r *cell.Result) string {
	if r.Failure != nil && r.Failure.Detail != "" {
		return r.Failure.Detail
	}
	return r.Note
}
