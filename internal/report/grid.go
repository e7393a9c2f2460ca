package report

import (
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// grid is a table under construction: a head, rows, and which columns hold
// numbers and are set flush right. Text and Markdown print it their own way.
type grid struct {
	head    []string
	numbers []int
	rows    [][]string
}

func (g *grid) add(row ...string) { g.rows = append(g.rows, row) }

// text prints the grid in columns, two spaces apart and indented.
func (g grid) text(w io.Writer, indent string) error {
	widths := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, s := range row {
			widths[i] = max(widths[i], lipgloss.Width(s))
		}
	}
	var b strings.Builder
	for n, row := range append([][]string{g.head}, g.rows...) {
		line := indent
		for i, s := range row {
			gap := strings.Repeat(" ", widths[i]-lipgloss.Width(s))
			if n == 0 {
				s = faint.Render(s)
			}
			if slices.Contains(g.numbers, i) {
				line += gap + s + "  "
			} else {
				line += s + gap + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown prints the grid as a table of GitHub's Markdown.
func (g grid) markdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = escapeMarkdown(c)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(slices.Clone(g.head))
	for i := range g.head {
		if slices.Contains(g.numbers, i) {
			b.WriteString("| ---: ")
		} else {
			b.WriteString("| --- ")
		}
	}
	b.WriteString("|\n")
	for _, row := range g.rows {
		line(slices.Clone(row))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "](", `]\(`, "\n", " ", "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`")

// escapeMarkdown keeps what a log or a model's name holds from becoming markup.
func escapeMarkdown(s string) string { return markdownEscapes.Replace(s) }
