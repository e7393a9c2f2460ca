package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// nothingRun stands where a report has no result to show.
const nothingRun = "Nothing has been run yet: assay matrix --key runs the key models."

// Absence is a target that was asked for and is not there, and why: said once,
// however many models were asked of it.
type Absence struct {
	Platform platform.Name `json:"platform"`
	Target   string        `json:"target"`
	Why      string        `json:"why,omitempty"`
	Models   int           `json:"models"`
}

// absences lists the targets of the unavailable squares, in the platforms' order.
func absences(m matrix.Matrix) []Absence {
	out := []Absence{}
	for i := range m.Platforms {
		for _, r := range m.Rows {
			s := r.Squares[i]
			if s.Verdict != cell.Unavailable {
				continue
			}
			at := slices.IndexFunc(out, func(a Absence) bool { return a.Target == s.Target && a.Why == s.Why })
			if at < 0 {
				at, out = len(out), append(out, Absence{Platform: s.Platform, Target: s.Target, Why: s.Why})
			}
			out[at].Models++
		}
	}
	return out
}

func absencesText(b *strings.Builder, list []Absence) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", bold.Render("Unavailable here"))
	for _, a := range list {
		fmt.Fprintf(b, "  %s %s  %s\n", ink(cell.Unavailable, lookOf(cell.Unavailable).mark), a.Target, a.sentence())
	}
}

func absencesMarkdown(b *strings.Builder, list []Absence) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## Unavailable here\n\n")
	for _, a := range list {
		fmt.Fprintf(b, "- %s %s: %s\n", lookOf(cell.Unavailable).mark, code(a.Target), escapeMarkdown(a.sentence()))
	}
}

func (a Absence) sentence() string {
	why := oneLine(a.Why)
	if why == "" {
		why = "no reason was recorded"
	}
	return fmt.Sprintf("%s (%s)", why, plural(a.Models, "model"))
}

// noProblems is what the list of problems says when it is empty. Squares may
// still be unavailable, or known from weaker evidence than a run.
func noProblems(d Document) string {
	if d.Results == 0 {
		return nothingRun
	}
	text := "No cell fails, is partial, or works only under a condition."
	if n := d.Counts[cell.Unavailable]; n > 0 {
		text += fmt.Sprintf(" %s skipped: no such device.", plural(n, "cell"))
	}
	return text
}
