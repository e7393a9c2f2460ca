package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/trend"
)

// WriteTrends prints histories: a line for each cell, and below it its steps.
func WriteTrends(out io.Writer, list []trend.Series) error {
	list = printable(list)
	if len(list) == 0 {
		_, err := io.WriteString(out, "no timed results: measure some with assay bench\n")
		return err
	}
	g := grid{head: []string{"cell", "timing", "runs", "first", "last", "over time"}, numbers: []int{2, 3, 4}}
	for _, s := range list {
		first, last := s.Points[0], s.Points[len(s.Points)-1]
		g.add(s.Cell.String(), string(s.Timing), fmt.Sprint(len(s.Points)), medianOf(first), medianOf(last), spark(s.Points))
	}
	var b strings.Builder
	if err := g.text(&b, ""); err != nil {
		return err
	}
	for _, s := range list {
		for _, step := range s.Steps {
			fmt.Fprintf(&b, "\n%s: %s → %s (%s) between %s and %s\n", bold.Render(s.Cell.String()), Milliseconds(step.BeforeMS), Milliseconds(step.AfterMS), byRatio(step.Ratio),
				when(step.After), when(step.Before))
			for _, d := range step.Changed {
				fmt.Fprintf(&b, "  %s: %s → %s\n", d.Field, orUnknown(d.A), orUnknown(d.B))
			}
			if len(step.Changed) == 0 {
				b.WriteString("  nothing that was recorded changed between the two runs\n")
			}
		}
	}
	_, err := io.WriteString(plain(out), b.String())
	return err
}

// medianOf is a run's median, marked where its repeats differ too much.
func medianOf(p trend.Point) string { return marked(Milliseconds(p.MedianMS), !p.Unstable) }

func when(p trend.Point) string {
	return fmt.Sprintf("%s (%s)", p.Run, p.At.UTC().Format("2006-01-02 15:04"))
}

func byRatio(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// mostSparks is how many of the newest runs a line shows.
const mostSparks = 40

// spark draws medians between the least and the largest of them.
func spark(points []trend.Point) string {
	points = points[max(0, len(points)-mostSparks):]
	bars := []rune("▁▂▃▄▅▆▇█")
	var values []float64
	for _, p := range points {
		values = append(values, p.MedianMS)
	}
	least, most := slices.Min(values), slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		at := 0
		if most > least {
			at = int((v - least) / (most - least) * float64(len(bars)-1))
		}
		b.WriteRune(bars[at])
	}
	return b.String()
}
