package matrix

import "assay/internal/cell"

// What people are shown in the place of a verdict that no run stands behind:
// the model was converted, or judged by a table or by past results. Totals
// never add these to what ran.
const (
	ShouldWork       cell.Verdict = "should-work"
	ShouldWorkPartly cell.Verdict = "should-work-partly"
)

// Shown is the verdict as people are shown it. Data keeps verdict and evidence.
func Shown(v cell.Verdict, e cell.Evidence) cell.Verdict {
	switch e {
	case cell.Derived, cell.Compiled, cell.Predicted:
	default:
		return v
	}
	switch v {
	case cell.Works:
		return ShouldWork
	case cell.Partial:
		return ShouldWorkPartly
	}
	return v
}

// Shown is the square's verdict as people are shown it.
func (s Square) Shown() cell.Verdict { return Shown(s.Verdict, s.Evidence) }
