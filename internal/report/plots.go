package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/trend"
)

// plotView is a cell's history, drawn: every number ready for the template.
type plotView struct {
	Title, Sub, Label string
	Most, Least       string // of the axis
	Line              string // points of the polyline
	Dots              []dotView
	Levels            []levelView
	Steps             []stepView
}

type dotView struct {
	X, Y, Tip string
	Unstable  bool
}

type levelView struct{ X1, X2, Y string }

// stepView is a step: where it is drawn, and what is said of it.
type stepView struct{ X, By, Text string }

// The size of a plot in its own units, and the most that are drawn: those with steps,
// then the longest.
const (
	plotWidth, plotHeight = 560.0, 120.0
	plotEdge              = 8.0
	mostPlots             = 60
)

// leastSpan is what the axis of a plot holds at least, as a share of its middle.
const leastSpan = 0.1

// leastRuns is how many runs make a history that is worth drawing.
const leastRuns = 3

// plots draws the histories.
func plots(list []trend.Series) []plotView {
	var out []plotView
	for _, s := range list {
		if len(s.Points) >= leastRuns && len(out) < mostPlots {
			out = append(out, plot(s))
		}
	}
	return out
}

func plot(s trend.Series) plotView {
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.MedianMS
	}
	least, most := slices.Min(values), slices.Max(values)
	if span := leastSpan * (least + most) / 2; most-least < span { // noise alone must not fill it
		least, most = (least+most-span)/2, (least+most+span)/2
	}
	x := func(i float64) string {
		return fmt.Sprintf("%.1f", plotEdge+(plotWidth-2*plotEdge)*i/float64(len(values)-1))
	}
	y := func(ms float64) string {
		share := 0.5
		if most > least {
			share = (ms - least) / (most - least)
		}
		return fmt.Sprintf("%.1f", plotHeight-plotEdge-(plotHeight-2*plotEdge)*share)
	}
	first, last := s.Points[0], s.Points[len(s.Points)-1]
	v := plotView{
		Title: s.Cell.String(), Most: Milliseconds(most), Least: Milliseconds(least),
		Sub:   fmt.Sprintf("%s, %d runs from %s to %s", s.Timing, len(values), first.At.UTC().Format("2006-01-02"), last.At.UTC().Format("2006-01-02")),
		Label: fmt.Sprintf("%s: %s at first, %s at last, %s", s.Cell, Milliseconds(first.MedianMS), Milliseconds(last.MedianMS), plural(len(s.Steps), "step")),
	}
	var line []string
	for i, p := range s.Points {
		d := dotView{x(float64(i)), y(p.MedianMS), fmt.Sprintf("%s: %s", when(p), medianOf(p)), p.Unstable}
		v.Dots, line = append(v.Dots, d), append(line, d.X+","+d.Y)
	}
	v.Line = strings.Join(line, " ")
	v.steps(s, x, y)
	return v
}

// steps draws the level on either side of each step, and the step between two runs.
func (v *plotView) steps(s trend.Series, x func(float64) string, y func(float64) string) {
	from := 0.0
	for i, step := range s.Steps {
		at := float64(slices.Index(s.Points, step.Before)) - 0.5
		to := float64(len(s.Points) - 1)
		if i+1 < len(s.Steps) {
			to = float64(slices.Index(s.Points, s.Steps[i+1].Before)) - 0.5
		}
		v.Levels = append(v.Levels, levelView{x(from), x(at), y(step.BeforeMS)})
		if i+1 == len(s.Steps) {
			v.Levels = append(v.Levels, levelView{x(at), x(to), y(step.AfterMS)})
		}
		from = at
		v.Steps = append(v.Steps, stepView{x(at), byRatio(step.Ratio), stepText(step)})
	}
}

// stepText says where a step lies and what changed there.
func stepText(s trend.Step) string {
	var changed []string
	for _, d := range s.Changed {
		changed = append(changed, fmt.Sprintf("%s %s → %s", d.Field, orUnknown(d.A), orUnknown(d.B)))
	}
	why := "nothing that was recorded changed"
	if len(changed) > 0 {
		why = strings.Join(changed, ", ")
	}
	return fmt.Sprintf("%s → %s (%s) between %s and %s: %s", Milliseconds(s.BeforeMS), Milliseconds(s.AfterMS), byRatio(s.Ratio), when(s.After), when(s.Before), why)
}
