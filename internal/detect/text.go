package detect

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TextOptions says what the terminal can do. The zero value is plain ASCII, 100
// columns wide, without evidence.
type TextOptions struct {
	Width    int
	Colour   bool
	UTF8     bool
	Evidence bool // print every observation too
}

// UTF8Locale reports whether the environment's locale is a UTF-8 one.
func UTF8Locale(env func(string) (string, bool)) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v, ok := env(name); ok && v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Text prints a report for people.
func Text(w io.Writer, r Report, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	t := &textPrinter{TextOptions: o, report: r}
	t.host()
	fmt.Fprintf(t, "  %-9s %-8s %s\n", "platform", "status", "engine, devices, settings, hint")
	for _, p := range r.Platforms {
		t.platform(p)
	}
	t.others()
	out := t.String()
	if !o.UTF8 {
		out = toASCII(out)
	}
	_, err := io.WriteString(w, out)
	return err
}

type textPrinter struct {
	TextOptions
	strings.Builder
	report Report
}

// marks are shown before each platform: with and without UTF-8, and a colour.
var marks = map[Status]struct{ utf8, ascii, colour string }{
	Present: {"✓", "+", "\x1b[32m"},
	Absent:  {"✗", "-", "\x1b[2m"},
	Unknown: {"?", "?", "\x1b[33m"},
}

func (t *textPrinter) host() {
	h := t.report.Host
	parts := []string{orUnnamed(h.CPU, "unnamed processor")}
	if h.Cores > 0 {
		parts = append(parts, count(h.Cores, "core"))
	}
	if h.MemoryBytes > 0 {
		parts = append(parts, Bytes(h.MemoryBytes))
	}
	parts = append(parts, h.OS+"/"+h.Arch+" "+h.Kernel)
	if h.Instance != "" {
		parts = append(parts, h.Instance)
	}
	t.wrap("", strings.TrimSpace(strings.Join(parts, " · ")))
	if len(t.report.CPU.Features) > 0 {
		t.wrap("  ", strings.Join(t.report.CPU.Features, " "))
	}
	t.WriteByte('\n')
}

func (t *textPrinter) platform(p Platform) {
	engine := "no engine"
	if p.Engine != nil {
		engine = string(p.Engine.Name) + " " + p.Engine.Version
	}
	fmt.Fprintf(t, "%s %-9s %-8s %s\n", t.mark(p.Status), p.Platform, p.Status, engine)
	const indent = "    "
	for _, d := range p.Devices {
		t.wrap(indent, deviceLine(d))
		if d.Settings != nil {
			t.wrap(indent+"  ", fmt.Sprintf("settings: %s, batch %d, %s", d.Settings.DType, d.Settings.Batch, count(d.Settings.Threads, "thread")))
			t.wrap(indent+"  ", "because "+d.Settings.Why)
		}
	}
	for _, e := range p.Evidence {
		if t.Evidence || e.Source == "missing" || e.Source == "environment" {
			t.wrap(indent, e.Source+": "+e.Detail)
		}
	}
	if p.Hint != "" {
		t.wrap(indent, "→ "+p.Hint)
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func deviceLine(d Device) string {
	s := d.ID + "  " + d.Name
	if d.MemoryBytes != nil {
		s += ", " + Bytes(*d.MemoryBytes)
	}
	if len(d.Features) > 0 && d.ID != "cpu" {
		s += " [" + strings.Join(d.Features, ", ") + "]"
	}
	if d.Software {
		s += " (software)"
	}
	return s
}

func (t *textPrinter) others() {
	sections := []struct {
		title string
		lines []string
	}{{"other accelerators", nil}, {"browsers", nil}, {"environment", nil}}
	for _, a := range t.report.Accelerators {
		sections[0].lines = append(sections[0].lines, fmt.Sprintf("%s (%s): %s", a.Name, a.Source, a.Note))
	}
	for _, b := range t.report.Browsers {
		sections[1].lines = append(sections[1].lines, b.Name+"  "+b.Path)
	}
	for _, name := range variables {
		if v, ok := t.report.Environment[name]; ok {
			sections[2].lines = append(sections[2].lines, name+"="+v)
		}
	}
	for _, s := range sections {
		if len(s.lines) == 0 {
			continue
		}
		t.WriteString("\n" + s.title + "\n")
		for _, line := range s.lines {
			t.wrap("    ", line)
		}
	}
}

func (t *textPrinter) mark(s Status) string {
	row := marks[s]
	mark := row.ascii
	if t.UTF8 {
		mark = row.utf8
	}
	if t.Colour {
		return row.colour + mark + "\x1b[0m"
	}
	return mark
}

// wrap prints words in lines no wider than the terminal; the second and later
// lines stand two columns further in.
func (t *textPrinter) wrap(indent, s string) {
	column := 0
	for i, word := range strings.Split(s, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			t.WriteString(indent)
			column = len(indent)
		case column+1+n > t.Width:
			t.WriteString("\n" + indent + "  ")
			column = len(indent) + 2
		default:
			t.WriteByte(' ')
			column++
		}
		t.WriteString(word)
		column += n
	}
	t.WriteByte('\n')
}

// toASCII writes the few signs that are used otherwise, and ? for the rest.
func toASCII(s string) string {
	s = strings.NewReplacer("→", "->", "·", "|", "–", "-", "…", "...", "®", "(R)", "™", "(TM)").Replace(s)
	return strings.Map(func(r rune) rune {
		if r > 126 {
			return '?'
		}
		return r
	}, s)
}
