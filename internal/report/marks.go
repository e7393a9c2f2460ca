package report

import (
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// look is how a verdict appears beside its word: a mark that needs no colour.
// The verdict is the style's name in the terminal palette and the style sheets.
type look struct {
	verdict cell.Verdict
	mark    string
	meaning string
}

func (l look) word() string { return l.verdict.Word() }

// looks has a row for each verdict of a square.
var looks = []look{
	{cell.Works, "✓", "ran, and its output was checked against a reference"},
	{cell.Partial, "◐", "ran, but some of it elsewhere, or its graph does not take every input, or the check could not be made"},
	{cell.ShouldWork, "○", "did not run: it was converted for the platform, or a table of operators or past results say so"},
	{cell.ShouldWorkPartly, "◌", "did not run, and by the same evidence some of it would run elsewhere"},
	{cell.Fails, "✗", "was tried and failed, or would by a table of operators; the reason is given"},
	{cell.Unavailable, "–", "no such device on the machines that were tried"},
	{matrix.Unknown, "?", "was tried, but the machine broke before the model could show anything"},
	{matrix.NotRun, "·", "not tried"},
}

func lookOf(v cell.Verdict) look {
	for _, l := range looks {
		if l.verdict == v {
			return l
		}
	}
	return look{v, "?", ""}
}

// grade is how a kind of evidence appears beside a verdict.
type grade struct {
	evidence cell.Evidence
	short    string // in narrow tables; "" for the kind that needs no remark
	meaning  string
}

var grades = []grade{
	{cell.Measured, "", "ran on that device"},
	{cell.Emulated, "emu", "ran on the vendor's emulator or a software adapter: its numbers count, its times do not"},
	{cell.Compiled, "cmp", "converted for the platform, not run"},
	{cell.Derived, "drv", "from the platform's table of operators"},
	{cell.Predicted, "prd", "from a model of past results"},
}

func gradeOf(e cell.Evidence) grade {
	for _, g := range grades {
		if g.evidence == e {
			return g
		}
	}
	return grade{evidence: e}
}

// isSet reports whether the square holds a result at all.
func isSet(s matrix.Square) bool {
	return s.Verdict != matrix.NotRun && s.Verdict != cell.Unavailable && s.Verdict != matrix.Unknown
}

// weightsWord names the weights shortly: a folder's path says too much.
func weightsWord(w string) string {
	switch w {
	case cell.Random, cell.Hub, "":
		return w
	}
	return "own"
}

// imported marks what did not run here.
const imported = "imp"

// published marks what the atlas says, where nobody here ran it.
const published = "atlas"

const publishedNote = published + ": nobody ran it here; it is what was published with Assay, and counts in no total."

func anyPublished(m matrix.Matrix) bool {
	return anySquare(m, func(s matrix.Square) bool { return s.Atlas != nil })
}

// inkOf is the verdict whose colour a square has.
func inkOf(s matrix.Square) cell.Verdict {
	if s.Atlas != nil {
		return s.Atlas.Shown()
	}
	return s.Shown()
}

// unstable stands beside a time whose repeats differ too much, and a ratio made of one.
const unstable = "~"

// value is the square's number under the metric, "" where it has none. Settings
// that are not the square's own stand beside it.
func value(s matrix.Square, m Metric) string {
	switch {
	case m == ByLatency && s.Latency != nil:
		return marked(Milliseconds(s.Latency.MedianMS)+departs(s, s.Latency.At), s.Latency.Stable)
	case m == ByLoad && s.Load != nil:
		return Milliseconds(s.Load.Seconds*1e3) + departs(s, s.Load.At)
	case m == ByMemory && s.Peak != nil:
		return Bytes(s.Peak.Bytes) + departs(s, s.Peak.At)
	case m == BySpeedup && s.Speedup != nil:
		return marked(Times(s.Speedup.Ratio)+departs(s, s.Speedup.At), s.Speedup.Stable)
	}
	return ""
}

// marked is a number of times, with the mark where they are unstable.
func marked(text string, stable bool) string {
	if stable {
		return text
	}
	return text + " " + unstable
}

// importedNumber marks a number that was taken elsewhere.
func importedNumber(s matrix.Square, m Metric) string {
	if at := numberAt(s, m); at != nil && at.Imported {
		return imported
	}
	return ""
}

func departs(s matrix.Square, at matrix.At) string {
	text := ""
	if at.DType != s.DType {
		text += " " + string(at.DType)
	}
	if at.Batch > 1 {
		text += fmt.Sprintf(" b%d", at.Batch)
	}
	return text
}

// short is the square in a narrow table: mark, then either the number or the
// size, and what departs from plain measurement.
func short(s matrix.Square, m Metric, hosts letters) string {
	l := lookOf(s.Shown())
	if p := s.Atlas; p != nil {
		return strings.Join(strings.Fields(lookOf(p.Shown()).mark+" "+gradeOf(p.Evidence).short+" "+published), " ")
	}
	if !isSet(s) {
		return l.mark
	}
	if m != ByVerdict {
		return strings.Join(strings.Fields(number(s, m)+" "+importedNumber(s, m)+" "+hosts.of(s, m)), " ")
	}
	parts := []string{l.mark, s.Size}
	if s.Weights != cell.Random {
		parts = append(parts, weightsWord(s.Weights))
	}
	if g := gradeOf(s.Evidence).short; g != "" {
		parts = append(parts, g)
	}
	if s.Imported {
		parts = append(parts, imported)
	}
	if s.Conditions != "" {
		parts = append(parts, "*")
	}
	if h := hosts.of(s, m); h != "" {
		parts = append(parts, h)
	}
	return strings.Join(parts, " ")
}

// number is what a square shows under a metric of numbers. One that works but
// was never timed says so: a mark would read as a verdict on its speed.
func number(s matrix.Square, m Metric) string {
	ran := s.Shown() == cell.Works || s.Shown() == cell.Partial
	switch v := value(s, m); {
	case v != "":
		return v
	case ran && (m == ByLatency || m == ByLoad):
		return "not timed"
	}
	return lookOf(s.Shown()).mark
}

// reason is why a problem is one, in one line.
func reason(p Problem) string {
	var parts []string
	if p.Conditions != "" {
		parts = append(parts, fmt.Sprintf("%s: %s", cell.Shown(p.Verdict, p.Evidence).Word(), p.Conditions))
	}
	if p.Class != "" {
		parts = append(parts, string(p.Class))
	}
	if p.Why != "" {
		parts = append(parts, oneLine(p.Why))
	}
	if p.Imported {
		parts = append(parts, "imported")
	}
	return strings.Join(parts, ": ")
}
