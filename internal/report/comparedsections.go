package report

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"assay/internal/baseline"
	"assay/internal/compare"
)

// mostEqual is how many cells whose speed is the same are listed beside those that
// changed; of more only the number is told. JSON has all.
const mostEqual = 12

// comparedSections are the parts of a comparison, in the order in which they matter.
func comparedSections(r compare.Report) []section {
	return []section{
		{title: "Verdicts", grid: turnsGrid(r.Turns)},
		{title: "Speed", note: speedNote(r.Speed), grid: speedGrid(r.Speed)},
		{title: "Geometric means", note: "of the ratios of speed: above 1 is slower", grid: meansGrid(r.Means)},
		{title: "Load, memory, energy", note: "no repeats are kept of these, so that nothing says how certain they are", grid: changesGrid(r.Changes)},
		{title: "What else differs", note: "compared all the same", grid: contextGrid(r.Context)},
		{title: "Not compared", grid: refusedGrid(r)},
	}
}

func turnsGrid(list []compare.Turn) grid {
	g := grid{head: []string{"", "cell", "A", "B", "why"}}
	for _, t := range list {
		why := t.Detail
		if t.Hint != "" && t.Worse {
			why = strings.TrimSpace(why + " → " + t.Hint)
		}
		g.add(string(t.Kind), t.Cell.String(), t.A, t.B, oneLine(why))
	}
	return g
}

func speedNote(list []compare.Speed) string {
	if equal := count(list, compare.Equal) + count(list, compare.Unclear); equal > mostEqual {
		return fmt.Sprintf("B over A: above 1 is slower; %d more are the same or unclear", equal)
	}
	return "B over A: above 1 is slower"
}

func count(list []compare.Speed, v compare.SpeedVerdict) int {
	n := 0
	for _, s := range list {
		if s.Verdict == v {
			n++
		}
	}
	return n
}

func speedGrid(list []compare.Speed) grid {
	g := grid{head: []string{"", "cell", "A", "B", "ratio", "95 %", "p", "corrected", "would notice"}, numbers: []int{2, 3, 4, 5, 6, 7, 8}}
	brief := count(list, compare.Equal)+count(list, compare.Unclear) > mostEqual
	for _, s := range list {
		if brief && (s.Verdict == compare.Equal || s.Verdict == compare.Unclear) {
			continue
		}
		g.add(string(s.Verdict), s.Cell.String(), Milliseconds(s.A), Milliseconds(s.B), fmt.Sprintf("%.3f", s.Ratio), ratios(s.Lo, s.Hi), pOr(s.P), pOr(s.Adjusted), finds(s.Finds))
	}
	return g
}

func ratios(lo, hi *float64) string {
	if lo == nil || hi == nil {
		return "too few"
	}
	return fmt.Sprintf("%.3f–%.3f", *lo, *hi)
}

func pOr(p *float64) string {
	if p == nil {
		return ""
	}
	return pText(*p)
}

// finds is the smallest change that a comparison would have noticed.
func finds(share *float64) string {
	if share == nil {
		return "unknown"
	}
	if *share > 1 {
		return fmt.Sprintf("×%.3g", 1+*share)
	}
	return fmt.Sprintf("±%.1f %%", 100**share)
}

func meansGrid(list []compare.Mean) grid {
	g := grid{head: []string{"by", "", "cells", "ratio"}, numbers: []int{2, 3}}
	for _, m := range list {
		g.add(m.By, m.Name, fmt.Sprint(m.Cells), fmt.Sprintf("%.3f", m.Ratio))
	}
	return g
}

func changesGrid(list []compare.Change) grid {
	g := grid{head: []string{"", "cell", "A", "B", "ratio"}, numbers: []int{2, 3, 4}}
	show := map[string]func(float64) string{
		"ms": Milliseconds, "bytes": func(v float64) string { return Bytes(int64(v)) }, "J": func(v float64) string { return fmt.Sprintf("%.3g J", v) },
	}
	for _, c := range list {
		g.add(c.What, c.Cell.String(), show[c.Unit](c.A), show[c.Unit](c.B), fmt.Sprintf("%.2f", c.Ratio))
	}
	return g
}

func contextGrid(list []compare.Differs) grid {
	g := grid{head: []string{"", "A", "B", "cells"}, numbers: []int{3}}
	for _, d := range list {
		g.add(d.Field, orUnknown(d.A), orUnknown(d.B), fmt.Sprint(d.Cells))
	}
	return g
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// mostOnly is how many cells of one side alone are named.
const mostOnly = 5

func refusedGrid(r compare.Report) grid {
	g := grid{head: []string{"cell", "because of", "A", "B", ""}}
	for _, x := range r.Refused {
		g.add(x.Cell.String(), x.Field, x.A, x.B, x.What)
	}
	for _, only := range []struct {
		side string
		of   []compare.Named
	}{{"only in A", r.OnlyA}, {"only in B", r.OnlyB}} {
		for i, n := range only.of {
			if i == mostOnly {
				g.add(fmt.Sprintf("… and %d more", len(only.of)-i), only.side)
				break
			}
			g.add(n.String(), only.side)
		}
	}
	for i, row := range g.rows {
		for len(row) < len(g.head) {
			row = append(row, "")
		}
		g.rows[i] = row
	}
	return g
}

// comparedBenchstat writes each repeat as a line of Go's benchmark format, the side
// as a configuration key of the file. It is the only one that differs, because benchstat
// makes a table of its own for each value of any other: the names of the sides are text.
func comparedBenchstat(w io.Writer, r compare.Report) error {
	if _, err := fmt.Fprintf(w, "A: %s\nB: %s\n", oneWord(r.A.Name), oneWord(r.B.Name)); err != nil {
		return err
	}
	out := benchfmt.NewWriter(w)
	for _, side := range []struct {
		letter  string
		medians func(compare.Speed) []float64
	}{
		{"a", func(s compare.Speed) []float64 { return s.MediansA }},
		{"b", func(s compare.Speed) []float64 { return s.MediansB }},
	} {
		for _, s := range r.Speed {
			for _, ms := range side.medians(s) {
				line := &benchfmt.Result{Name: benchfmt.Name(benchName(s.Cell)), Iters: 1}
				line.Config = []benchfmt.Config{{Key: "side", Value: []byte(side.letter), File: true}}
				line.Values = []benchfmt.Value{{Value: ms * 1e6, Unit: "ns/op"}}
				if err := out.Write(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// benchName is a cell as the name of a benchmark, its parts as keys.
func benchName(n compare.Named) string {
	parts := []string{"Cell", "model=" + n.Model, "target=" + n.Target, "dtype=" + n.DType}
	for _, s := range n.Settings {
		parts = append(parts, strings.Replace(s, " ", "=", 1))
	}
	for i, p := range parts {
		if i > 0 {
			p = strings.ReplaceAll(p, "/", "_")
		}
		parts[i] = oneWord(p)
	}
	return strings.Join(parts, "/")
}

func oneWord(s string) string { return strings.Join(strings.Fields(s), "_") }

// WriteBaselines lists what is kept.
func WriteBaselines(out io.Writer, list []baseline.Baseline) error {
	if len(list) == 0 {
		_, err := io.WriteString(out, "there are no baselines: keep one with assay baseline set NAME\n")
		return err
	}
	g := grid{head: []string{"name", "made", "cells", "timed", "machine"}, numbers: []int{2, 3}}
	for _, b := range list {
		g.add(b.Name, b.Made.UTC().Format("2006-01-02 15:04"), fmt.Sprint(b.Cells), fmt.Sprint(b.Timed), compare.MachineName(b.Host))
	}
	return g.text(plain(out), "")
}
