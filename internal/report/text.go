package report

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// writeText prints the document for a terminal: the matrix, its legend, the
// reasons, and the sections that have something to show.
func writeText(out io.Writer, d Document) error {
	w := plain(out)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n\n", bold.Render(d.Title), faint.Render(subtitle(d)))
	if d.byFamily {
		familyText(&b, d)
	} else {
		matrixText(&b, d)
	}
	b.WriteString(legendText(d))
	problemsText(&b, d.Problems)
	for _, s := range sections(d) {
		if len(s.grid.rows) == 0 || s.long && !d.detail {
			continue
		}
		title := "\n" + bold.Render(s.title)
		if s.note != "" {
			title += "  " + faint.Render(s.note)
		}
		b.WriteString(title + "\n")
		if err := s.grid.text(&b, "  "); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func subtitle(d Document) string {
	parts := []string{plural(len(d.Matrix.Rows), "model"), plural(d.Results, "result"), plural(len(d.Hardware), "host")}
	if d.Metric != ByVerdict {
		parts = append(parts, "showing "+metricTitle(d.Metric))
	}
	if !d.GeneratedAt.IsZero() {
		parts = append(parts, d.GeneratedAt.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return strings.Join(parts, " · ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func metricTitle(m Metric) string {
	return map[Metric]string{ByVerdict: "verdict", ByLatency: "median latency", ByLoad: "load time", ByMemory: "peak memory", BySpeedup: "speed-up over CPU"}[m]
}

// matrixText prints one line a model, under a line for each family.
func matrixText(b *strings.Builder, d Document) {
	name, widths := widthsOf(d)
	head := pad("", name)
	for i, p := range d.Matrix.Platforms {
		head += "  " + pad(string(p), widths[i])
	}
	b.WriteString(bold.Render(strings.TrimRight(head, " ")) + "\n")
	family := "\x00"
	for _, r := range d.Matrix.Rows {
		if r.Family != family {
			family = r.Family
			b.WriteString(faint.Render(familyTitle(family)) + "\n")
		}
		line := pad("  "+label(r), name)
		for i, s := range r.Squares {
			line += "  " + pad(ink(s.Verdict, short(s, d.Metric)), widths[i])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n")
}

func widthsOf(d Document) (name int, widths []int) {
	for _, p := range d.Matrix.Platforms {
		widths = append(widths, len(p))
	}
	for _, r := range d.Matrix.Rows {
		name = max(name, lipgloss.Width(label(r))+2)
		for i, s := range r.Squares {
			widths[i] = max(widths[i], lipgloss.Width(short(s, d.Metric)))
		}
	}
	return name, widths
}

// familyText prints the counts of each verdict, family by platform.
func familyText(b *strings.Builder, d Document) {
	g := grid{head: []string{"family", "models"}, numbers: []int{1}}
	for _, p := range d.Matrix.Platforms {
		g.head = append(g.head, string(p))
	}
	for _, f := range d.Families {
		row := []string{familyTitle(f.Family), fmt.Sprint(f.Models)}
		for _, c := range f.Counts {
			row = append(row, tally(c.Verdicts, ink))
		}
		g.add(row...)
	}
	_ = g.text(b, "") // a strings.Builder takes everything
	b.WriteString("\n")
}

// tally writes the counts that are not zero, each with its mark: "3✓ 1✗".
func tally(counts map[cell.Verdict]int, style func(cell.Verdict, string) string) string {
	var parts []string
	for _, l := range looks {
		if n := counts[l.verdict]; n > 0 {
			parts = append(parts, style(l.verdict, fmt.Sprintf("%d%s", n, l.mark)))
		}
	}
	return strings.Join(parts, " ")
}

func legendText(d Document) string {
	var verdicts, evidence []string
	for _, l := range looks {
		verdicts = append(verdicts, ink(l.verdict, l.mark)+" "+l.word+fmt.Sprintf(" %d", d.Counts[l.verdict]))
	}
	for _, g := range grades[1:] {
		if uses(d.Matrix, g.evidence) {
			evidence = append(evidence, fmt.Sprintf("%s (%s)", g.short, g.evidence))
		}
	}
	legend := strings.Join(verdicts, "   ") + "\n"
	if d.byFamily {
		return legend
	}
	note := "Weights are random unless hub or own stands."
	if len(evidence) > 0 {
		note += " Evidence is measured unless " + strings.Join(evidence, " or ") + " stands."
	}
	return legend + faint.Render(note+" * under a condition, see below.") + "\n"
}

func uses(m matrix.Matrix, e cell.Evidence) bool {
	for _, r := range m.Rows {
		for _, s := range r.Squares {
			if s.Evidence == e {
				return true
			}
		}
	}
	return false
}

func problemsText(b *strings.Builder, list []Problem) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", bold.Render("Why"))
	for _, p := range list {
		fmt.Fprintf(b, "  %s %s on %s  %s\n", ink(p.Verdict, lookOf(p.Verdict).mark), p.Model, p.Target, reason(p))
		if p.Hint != "" {
			fmt.Fprintf(b, "      %s\n", faint.Render("→ "+oneLine(p.Hint)))
		}
	}
}

// label is the row's name; a checkpoint that is called like its type says so.
func label(r matrix.Row) string {
	if r.Checkpoint == r.Type {
		return r.Model + " (full)"
	}
	return r.Model
}

// familyTitle is the family as a heading: "Encoder-only".
func familyTitle(f string) string {
	switch f {
	case "":
		return "Family unknown"
	case "rag":
		return "Retrieval (RAG)"
	}
	return strings.ToUpper(f[:1]) + f[1:]
}
