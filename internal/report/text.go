package report

import (
	"fmt"
	"io"
	"slices"
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
	if d.Results == 0 {
		b.WriteString(nothingRun + "\n")
	}
	if len(d.Matrix.Rows) > 0 {
		squaresText(&b, d)
	}
	problemsText(&b, d.Problems)
	absencesText(&b, d.Unavailable)
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

// squaresText prints the matrix itself and how to read it.
func squaresText(b *strings.Builder, d Document) {
	if d.Results == 0 {
		b.WriteString("\n")
	}
	if d.byFamily {
		familyText(b, d)
	} else {
		matrixText(b, d)
	}
	b.WriteString(legendText(d))
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
	hosts := lettersOf(d)
	name, widths := widthsOf(d, hosts)
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
			line += "  " + pad(ink(inkOf(s), short(s, d.Metric, hosts)), widths[i])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n")
}

func widthsOf(d Document, hosts letters) (name int, widths []int) {
	for _, p := range d.Matrix.Platforms {
		widths = append(widths, len(p))
	}
	for _, r := range d.Matrix.Rows {
		name = max(name, lipgloss.Width(label(r))+2)
		for i, s := range r.Squares {
			widths[i] = max(widths[i], lipgloss.Width(short(s, d.Metric, hosts)))
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
	var verdicts []string
	for _, l := range looks {
		verdicts = append(verdicts, ink(l.verdict, l.mark)+" "+l.word()+fmt.Sprintf(" %d", d.Counts[l.verdict]))
	}
	legend := strings.Join(verdicts, "   ") + "\n"
	if d.byFamily {
		return legend
	}
	if notes := legendNotes(d); len(notes) > 0 {
		legend += faint.Render(strings.Join(notes, " ")) + "\n"
	}
	for _, h := range lettersOf(d) {
		legend += fmt.Sprintf("%s  %s\n", h.letter, faint.Render(strings.TrimSpace(h.host.ID+"  "+machine(h.host))))
	}
	return legend
}

// legendNotes explain what stands beside marks and numbers, as far as it does.
func legendNotes(d Document) []string {
	var notes []string
	if anyImported(d.Matrix) {
		notes = append(notes, importedNote)
	}
	if anyPublished(d.Matrix) {
		notes = append(notes, publishedNote)
	}
	if d.Metric == ByVerdict {
		notes = append(notes, "Weights are random unless the cell says hub or own.")
		if evidence := weaker(d.Matrix); len(evidence) > 0 {
			notes = append(notes, "Evidence is measured unless "+strings.Join(evidence, " or ")+" stands.")
		}
		if anySquare(d.Matrix, func(s matrix.Square) bool { return isSet(s) && s.Conditions != "" }) {
			notes = append(notes, "* under a condition, see below.")
		}
	}
	shaky := func(s matrix.Square) bool {
		return d.Metric == ByLatency && s.Latency != nil && !s.Latency.Stable || d.Metric == BySpeedup && s.Speedup != nil && !s.Speedup.Stable
	}
	if anySquare(d.Matrix, shaky) {
		notes = append(notes, unstable+" unstable: the repeats differ by more than the limit.")
	}
	return notes
}

// weaker names the kinds of evidence in the matrix that are less than measured.
func weaker(m matrix.Matrix) []string {
	var out []string
	for _, g := range grades[1:] {
		if uses(m, g.evidence) {
			out = append(out, fmt.Sprintf("%s (%s)", g.short, g.evidence))
		}
	}
	return out
}

func uses(m matrix.Matrix, e cell.Evidence) bool {
	return anySquare(m, func(s matrix.Square) bool { return s.Evidence == e })
}

const importedNote = imported + " was imported: it did not run here."

func anyImported(m matrix.Matrix) bool {
	return anySquare(m, func(s matrix.Square) bool {
		return s.Imported || slices.ContainsFunc(Metrics(), func(by Metric) bool { return importedNumber(s, by) != "" })
	})
}

func anySquare(m matrix.Matrix, is func(matrix.Square) bool) bool {
	return slices.ContainsFunc(m.Rows, func(r matrix.Row) bool { return slices.ContainsFunc(r.Squares, is) })
}

func problemsText(b *strings.Builder, list []Problem) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", bold.Render("Why"))
	for _, p := range list {
		fmt.Fprintf(b, "  %s %s on %s  %s\n", ink(cell.Shown(p.Verdict, p.Evidence), lookOf(cell.Shown(p.Verdict, p.Evidence)).mark), matrix.Name(p.Model), p.Target, reason(p))
		if p.Hint != "" {
			fmt.Fprintf(b, "      %s\n", faint.Render("→ "+oneLine(p.Hint)))
		}
	}
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
