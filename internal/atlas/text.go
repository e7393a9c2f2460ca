package atlas

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/platform"
)

// clip is how much of a reason a line shows; JSON has all of it.
const clip = 160

// WriteText prints answers, a line for each target.
func WriteText(w io.Writer, answers []Answer) error {
	for i, a := range answers {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := a.write(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\nVersions are those that were tried; others were not.")
	return err
}

func (a Answer) write(w io.Writer) error {
	title := fmt.Sprintf("%s, tiny, random weights", a.Type)
	if a.Checkpoint != "" {
		title = fmt.Sprintf("%s: as %s; %s", a.Model, a.As, a.Size)
	}
	if a.Type == "" {
		title = a.Model
	}
	if len(a.Places) > 0 {
		title += "; named in " + strings.Join(a.Places[:min(3, len(a.Places))], ", ")
	}
	if more := len(a.Places) - 3; more > 0 {
		title += fmt.Sprintf(" and %d more", more)
	}
	if _, err := fmt.Fprintln(w, clean.Line(title)); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "target\tverdict\tevidence\tdtype\tdate\tcheck it here\twhy, and with what")
	for _, l := range a.Targets {
		cells := []string{l.Target, l.Shown().Word(), string(l.Evidence), l.dtype(), l.date(), l.Check, l.why()}
		for i, c := range cells {
			cells[i] = clean.Line(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

func (l Line) dtype() string {
	if !l.Known() {
		return ""
	}
	return string(l.DType)
}

func (l Line) date() string {
	if l.At.IsZero() {
		return ""
	}
	return l.At.Format("2006-01-02")
}

// why is everything else that a line says.
func (l Line) why() string {
	var parts []string
	add := func(part string) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if l.Source != FromAtlas {
		add(map[Source]string{FromOwn: "your own result", FromOther: "a result that you imported"}[l.Source])
	}
	for _, c := range l.Contradicts {
		add(c)
	}
	if l.exact {
		add("of " + l.Of)
	}
	if l.Basis != "" {
		add(fmt.Sprintf("%s, was %s", l.Of, l.Basis))
	}
	add(l.Reason())
	if l.Error != nil && l.Verdict != cell.Fails {
		add(fmt.Sprintf("error %.1e", *l.Error))
	}
	add(l.Memory.String())
	add(l.placed())
	add(l.others())
	add(l.withVersions())
	add(l.with())
	if l.Fallback != "" && l.Verdict != cell.Works {
		add("instead: " + l.Fallback)
	}
	return strings.Join(parts, "; ")
}

// Reason is why a claim is less than works, in one line.
func (c Claim) Reason() string {
	why := c.Note
	if c.Verdict == cell.Fails {
		why = strings.TrimSuffix(string(c.Class)+": "+cmp.Or(c.Detail, c.Note), ": ")
	}
	why = strings.Join(strings.Fields(why), " ")
	if r := []rune(why); len(r) > clip {
		why = string(r[:clip-1]) + "…"
	}
	return why
}

// placed is the share of operations on the device that ran most of them, where
// that says something: several devices, or an emulated one.
func (c Claim) placed() string {
	if len(c.Placement) == 0 || len(c.Placement) == 1 && cmp.Or(c.Basis, c.Evidence) != cell.Emulated {
		return ""
	}
	sum, most := 0, ""
	for _, device := range slices.Sorted(maps.Keys(c.Placement)) {
		sum += c.Placement[device]
		if c.Placement[device] > c.Placement[most] {
			most = device
		}
	}
	return fmt.Sprintf("%d of %d operations on %s", c.Placement[most], sum, most)
}

// others are the other dtypes, by verdict.
func (l Line) others() string {
	by := map[string][]string{}
	for _, o := range l.Others {
		if o.Known() {
			word := o.Shown().Word()
			if o.Class != "" {
				word += " (" + string(o.Class) + ")"
			}
			by[word] = append(by[word], string(o.DType))
		}
	}
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, strings.Join(by[word], ", ")+": "+word)
	}
	return strings.Join(parts, "; ")
}

// with are the other versions that matter on the target, and the device.
func (c Claim) with() string {
	if !c.Known() {
		return ""
	}
	t, err := platform.ParseTarget(c.Target)
	if err != nil {
		return ""
	}
	names := t.Engine.Traits().Libraries
	if t.Engine.Traits().Pages {
		names = []string{"onnxruntime-web", "browser"}
	}
	var parts []string
	for _, n := range append(slices.Clone(names), "transformers") {
		if v := c.Versions[n]; v != "" && n != library(c.Target) {
			parts = append(parts, strings.Replace(n+" "+v, "browser packed ", "Assay's own Chromium ", 1))
		}
	}
	if d := c.Versions["device"]; d != "" {
		parts = append(parts, d)
	}
	return strings.Join(parts, ", ")
}
