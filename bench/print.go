package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// printers write a document, by format.
var printers = map[string]func(io.Writer, Document) error{
	"text": printText,
	"json": printJSON,
	"md":   printMarkdown,
}

func printJSON(w io.Writer, d Document) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

func printText(w io.Writer, d Document) error {
	for _, f := range d.Machine.facts() {
		if _, err := fmt.Fprintf(w, "%-9s %s\n", f.name, f.value); err != nil {
			return err
		}
	}
	for _, g := range d.all() {
		if err := g.text(w); err != nil {
			return err
		}
	}
	return d.notes(w, "  %s: %s\n")
}

func printMarkdown(w io.Writer, d Document) error {
	var facts []string
	for _, f := range d.Machine.facts() {
		facts = append(facts, fmt.Sprintf("- %s: %s", f.name, f.value))
	}
	if _, err := fmt.Fprintln(w, strings.Join(facts, "\n")); err != nil {
		return err
	}
	for _, g := range d.all() {
		if err := g.markdown(w); err != nil {
			return err
		}
	}
	return d.notes(w, "- **%s**: %s\n")
}

// all are the rows as one grid, then the other grids.
func (d Document) all() []Grid {
	main := Grid{Head: []string{"what", "measured", "value", "bar", "met"}}
	for _, r := range d.Rows {
		main.Rows = append(main.Rows, []string{r.Name, r.Measured, r.Value, r.Bar, r.met()})
	}
	if len(main.Rows) == 0 {
		return d.Grids
	}
	return append([]Grid{main}, d.Grids...)
}

func (d Document) notes(w io.Writer, format string) error {
	first := true
	for _, r := range d.Rows {
		if r.Note == "" {
			continue
		}
		if first {
			first = false
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, format, r.Name, r.Note); err != nil {
			return err
		}
	}
	return nil
}

func (r Row) met() string {
	switch {
	case r.Met == nil:
		return "–"
	case *r.Met:
		return "yes"
	}
	return "NO"
}

func (g Grid) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if g.Title != "" {
		fmt.Fprintf(t, "\n%s", g.Title)
	}
	fmt.Fprintf(t, "\n%s\n", strings.Join(g.Head, "\t"))
	for _, row := range g.Rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

func (g Grid) markdown(w io.Writer) error {
	var b strings.Builder
	if g.Title != "" {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
	}
	fmt.Fprintf(&b, "\n| %s |\n|%s\n", strings.Join(g.Head, " | "), strings.Repeat(" --- |", len(g.Head)))
	for _, row := range g.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(c)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type fact struct{ name, value string }

// facts are the machine in a few lines.
func (m Machine) facts() []fact {
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		versions = append(versions, name+" "+m.Versions[name])
	}
	load := "unknown"
	if m.LoadBefore != nil {
		load = fmt.Sprintf("%.2f", *m.LoadBefore)
	}
	system := strings.TrimSpace(m.Host.OS + ", " + m.Host.Arch + ", kernel " + m.Host.Kernel)
	out := []fact{
		{"date", m.At.UTC().Format("2006-01-02 15:04 UTC")},
		{"CPU", fmt.Sprintf("%s, %d cores", m.Host.CPU, m.Host.Cores)},
		{"memory", gib(m.Host.MemoryBytes)},
		{"system", system},
		{"versions", strings.Join(versions, ", ")},
		{"load", load + " before the start"},
	}
	if m.Seed != 0 {
		out = append(out, fact{"seed", fmt.Sprint(m.Seed)})
	}
	if m.Quick {
		out = append(out, fact{"quick", "a trial with few repetitions: do not quote it"})
	}
	return out
}

func gib(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
