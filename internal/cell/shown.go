package cell

import "strings"

// What people are shown in the place of a verdict that no run stands behind:
// the model was converted, or judged by a table or by past results. Totals
// never add these to what ran.
const (
	ShouldWork       Verdict = "should-work"
	ShouldWorkPartly Verdict = "should-work-partly"
)

// Unrun reports whether a verdict of such evidence was reached without a run.
func (e Evidence) Unrun() bool { return e == Compiled || e == Derived || e == Predicted }

// Shown is a verdict as people are shown it. Data keeps verdict and evidence.
func Shown(v Verdict, e Evidence) Verdict {
	switch {
	case e.Unrun() && v == Works:
		return ShouldWork
	case e.Unrun() && v == Partial:
		return ShouldWorkPartly
	}
	return v
}

// Shown is the result's verdict as people are shown it.
func (r Result) Shown() Verdict { return Shown(r.Verdict, r.Evidence) }

// Word is the verdict as it stands in a sentence.
func (v Verdict) Word() string { return strings.ReplaceAll(string(v), "-", " ") }
