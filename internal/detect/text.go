package detect

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/internal/platform"
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
	t := &textPrinter{TextOptions: o, report: r, told: map[string]bool{}}
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
	told   map[string]bool // what was said of variables, so that it is said once
}

// marks are shown before each platform by its word: with and without UTF-8,
// and a colour.
var marks = map[string]struct{ utf8, ascii, colour string }{
	string(Present): {"✓", "+", "\x1b[32m"},
	string(Absent):  {"✗", "-", "\x1b[2m"},
	string(Unknown): {"?", "?", "\x1b[33m"},
	seenWord:        {"○", "o", "\x1b[36m"},
}

// seenWord is for a platform that is there and on which no cell can run: for
// people, absent is what is not there.
const seenWord = "seen"

func (p Platform) word() string {
	if p.Status == Absent && p.Seen {
		return seenWord
	}
	return string(p.Status)
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
	if len(t.report.CPU.Features) > 0 && t.report.has(platform.CPU) {
		t.wrap("  ", strings.Join(t.report.CPU.Features, " "))
	}
	if off := t.report.CPU.NotExecuted; len(off) > 0 && t.report.has(platform.CPU) {
		t.wrap("  ", "announced but not executed: "+strings.Join(off, " "))
	}
	t.WriteByte('\n')
}

func (t *textPrinter) platform(p Platform) {
	engine := "no engine"
	if p.Engine != nil {
		engine = string(p.Engine.Name) + " " + p.Engine.Version
	}
	fmt.Fprintf(t, "%s %-9s %-8s %s\n", t.mark(p.word()), p.Platform, p.word(), engine)
	const indent = "    "
	for i, d := range p.Devices {
		t.wrap(indent, deviceLine(d))
		if d.Settings != nil && !sameSettings(p.Devices, i) {
			t.wrap(indent+"  ", fmt.Sprintf("settings: %s, batch %d, %s", d.Settings.DType, d.Settings.Batch, count(d.Settings.Threads, "thread")))
			t.wrap(indent+"  ", "because "+d.Settings.Why)
		}
	}
	for _, e := range p.Evidence {
		if t.shows(e) {
			t.wrap(indent, e.Source+": "+e.Detail)
		}
	}
	if p.Hint != "" {
		t.wrap(indent, "→ "+p.Hint)
	}
}

// sameSettings reports whether the device after the i-th has its settings too:
// what holds for twelve of them is said once, after the last.
func sameSettings(devices []Device, i int) bool {
	return i+1 < len(devices) && devices[i+1].Settings != nil && *devices[i+1].Settings == *devices[i].Settings
}

// always are the sources of observations that are printed in any case.
var always = []string{"missing", "unseen", instructionsAnswer}

// shows reports whether an observation is printed: what is missing, what could
// not be looked at and what does not execute always, what a variable does once.
func (t *textPrinter) shows(e Evidence) bool {
	if e.Source != "environment" {
		return t.Evidence || slices.Contains(always, e.Source)
	}
	repeated := t.told[e.Detail]
	t.told[e.Detail] = true
	return !repeated
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
	if d.Browser != "" {
		s += " in " + d.Browser
	}
	return s
}

func browserLine(b Browser) string {
	s := b.Name + "  " + b.Path
	if b.Answer == nil {
		return s
	}
	return s + ", " + b.Answer.Version + " [" + strings.Join(b.Answer.Wasm.words(), ", ") + "]"
}

// others prints what belongs to no platform in particular. A report about some
// platforms only leaves out what is of none of them.
func (t *textPrinter) others() {
	var accelerators, browsers []string
	if !t.report.narrowed() {
		for _, a := range t.report.Accelerators {
			accelerators = append(accelerators, fmt.Sprintf("%s (%s): %s", a.Name, a.Source, a.Note))
		}
	}
	for _, b := range t.report.Browsers {
		browsers = append(browsers, browserLine(b))
	}
	t.section("other accelerators", accelerators)
	t.section("browsers", browsers)
	t.section("environment", t.environment())
}

func (t *textPrinter) section(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.WriteString("\n" + title + "\n")
	for _, line := range lines {
		t.wrap("    ", line)
	}
}

// environment lists the variables that no platform's lines have named.
func (t *textPrinter) environment() []string {
	var lines []string
	for _, row := range variables {
		v, set := t.report.Environment[row.name]
		if !set || t.named(row.name) || t.report.narrowed() && !t.report.has(row.platforms...) {
			continue
		}
		lines = append(lines, row.name+"="+v)
	}
	return lines
}

func (t *textPrinter) named(variable string) bool {
	for detail := range t.told {
		if rest, ok := strings.CutPrefix(detail, variable); ok && strings.IndexAny(rest, "= ") == 0 {
			return true
		}
	}
	return false
}

func (t *textPrinter) mark(word string) string {
	row := marks[word]
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
	s = strings.NewReplacer("→", "->", "·", "|", "–", "-", "…", "...", "○", "o", "®", "(R)", "™", "(TM)").Replace(s)
	return strings.Map(func(r rune) rune {
		if r > 126 {
			return '?'
		}
		return r
	}, s)
}
