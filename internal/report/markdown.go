package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// writeMarkdown prints the document as GitHub's Markdown.
func writeMarkdown(w io.Writer, d Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", escapeMarkdown(d.Title), subtitle(d))
	if d.Results == 0 {
		b.WriteString(nothingRun + "\n\n")
	}
	if err := matrixGrid(d).markdown(&b); err != nil {
		return err
	}
	b.WriteString(legendMarkdown(d))
	problemsMarkdown(&b, d.Problems)
	absencesMarkdown(&b, d.Unavailable)
	for _, s := range sections(d) {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if len(s.grid.rows) == 0 {
			b.WriteString(capital(s.empty) + "\n")
			continue
		}
		if s.note != "" {
			b.WriteString(s.note + "\n\n")
		}
		if err := s.grid.markdown(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func matrixGrid(d Document) grid {
	g := grid{head: []string{"family", "model"}}
	if d.byFamily {
		g.head[1] = "models"
	}
	for _, p := range d.Matrix.Platforms {
		g.head = append(g.head, string(p))
	}
	if d.byFamily {
		for _, f := range d.Families {
			row := []string{familyTitle(f.Family), fmt.Sprint(f.Models)}
			for _, c := range f.Counts {
				row = append(row, tally(c.Verdicts, func(_ cell.Verdict, s string) string { return s }))
			}
			g.add(row...)
		}
		return g
	}
	family, hosts := "\x00", lettersOf(d)
	for _, r := range d.Matrix.Rows {
		title := ""
		if r.Family != family {
			family, title = r.Family, familyTitle(r.Family)
		}
		row := []string{title, label(r)}
		for _, s := range r.Squares {
			row = append(row, short(s, d.Metric, hosts))
		}
		g.add(row...)
	}
	return g
}

func legendMarkdown(d Document) string {
	var b strings.Builder
	for _, l := range looks {
		fmt.Fprintf(&b, "- %s **%s** (%d): %s\n", l.mark, l.word(), d.Counts[l.verdict], l.meaning)
	}
	b.WriteString("\nEach cell shows the size; weights are random unless it says hub or own. Evidence is measured (ran on that device) unless a cell says:\n\n")
	for _, g := range grades[1:] {
		fmt.Fprintf(&b, "- `%s` **%s**: %s\n", g.short, g.evidence, g.meaning)
	}
	if anyImported(d.Matrix) && !d.byFamily {
		fmt.Fprintf(&b, "- `%s` **imported**: it did not run here\n", imported)
	}
	if anyPublished(d.Matrix) && !d.byFamily {
		fmt.Fprintf(&b, "- `%s`: nobody ran it here; it is what was published with Assay, and counts in no total\n", published)
	}
	if hosts := lettersOf(d); len(hosts) > 0 && !d.byFamily {
		b.WriteString("\nThe letter in a cell is the host on which it ran:\n\n")
		for _, h := range hosts {
			fmt.Fprintf(&b, "- `%s` %s: %s\n", h.letter, escapeMarkdown(h.host.ID), escapeMarkdown(machine(h.host)))
		}
	}
	if notes := legendNotes(d); d.Metric != ByVerdict && len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, " ") + "\n")
	}
	return b.String()
}

func problemsMarkdown(b *strings.Builder, list []Problem) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## What does not work, and why\n\n")
	for _, p := range list {
		fmt.Fprintf(b, "- %s **%s** on %s (%s): %s\n", lookOf(cell.Shown(p.Verdict, p.Evidence)).mark, escapeMarkdown(matrix.Name(p.Model)), code(p.Target), p.Evidence, escapeMarkdown(reason(p)))
		if p.Hint != "" {
			fmt.Fprintf(b, "  - %s\n", escapeMarkdown(p.Hint))
		}
	}
}

// code sets a target as code. One that is not Assay's is escaped as text:
// between backquotes nothing can be.
func code(target string) string {
	if strings.ContainsFunc(target, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(":/@._-", r)
	}) {
		return escapeMarkdown(target)
	}
	return "`" + target + "`"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
