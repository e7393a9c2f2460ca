package modelpage

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/facts"
	"assay/internal/report"
)

// printer writes lines of a name and a value; empty values are left out.
type printer struct{ bytes.Buffer }

func (b *printer) line(name, format string, args ...any) {
	if text := clean.Text(fmt.Sprintf(format, args...)); text != "" {
		fmt.Fprintf(b, "%-12s %s\n", name, text)
	}
}

// WriteText prints the page for people.
func (p Page) WriteText(w io.Writer) error {
	b := &printer{}
	p.known(b)
	p.made(b)
	if p.Facts != nil {
		derived(b, p.Facts)
	}
	p.ran(b)
	p.published(b)
	p.missing(b)
	_, err := w.Write(b.Bytes())
	return err
}

// known is what the catalogue says.
func (p Page) known(b *printer) {
	b.line("type", "%s", p.Model.Type)
	b.line("class", "%s", cmp.Or(p.Model.Class, "none: a component of other models"))
	b.line("task", "%s", p.Model.Task)
	b.line("families", "%s", strings.Join(p.Model.Families, ", "))
	b.line("pipeline", "%s", p.Model.Pipeline)
	b.line("priority", "%s", p.Model.Priority)
	b.line("documented", "%s", p.Model.Checkpoint)
	for _, h := range p.Heads {
		b.line("head", "%s (%s)", h.Task, h.Class)
	}
	for _, k := range p.Checkpoints {
		b.line("checkpoint", "%s (%s parameters)", k.Name, report.Count(k.Parameters))
	}
	b.line("note", "%s", p.Note)
}

// made is how the chosen model is made and fed.
func (p Page) made(b *printer) {
	r, ok := p.read()
	if !ok {
		return
	}
	of := []string{p.Size}
	for _, name := range slices.Sorted(maps.Keys(r.Sizes)) {
		of = append(of, fmt.Sprintf("%s %d", name, r.Sizes[name]))
	}
	b.line("recipe", "%s", strings.Join(of, ", "))
	if p.Facts == nil {
		for _, in := range r.Inputs {
			b.line("input", "%s %s %s", in.Name, in.DType, shape(in.Shape))
		}
		if r.Parameters > 0 {
			b.line("parameters", "%s", report.Count(r.Parameters))
		}
	}
	if r.Control == nil {
		return
	}
	effect := ""
	if r.Control.Effect != nil {
		effect = fmt.Sprintf(", moves the output by %.2g of its largest value", *r.Control.Effect)
	}
	b.line("control", "%s (gain %g)%s", r.Control.Kind, r.Gain, effect)
}

func shape[T any](entries []T) string {
	var parts []string
	for _, e := range entries {
		parts = append(parts, fmt.Sprint(e))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// derived is what the facts say; where one is not known nothing is printed
// here, and missing says why.
func derived(b *printer, f *facts.Sheet) {
	var at []string
	for _, name := range slices.Sorted(maps.Keys(f.Sizes)) {
		at = append(at, fmt.Sprintf("%s %d", name, f.Sizes[name]))
	}
	b.line("facts", "%s%s, at %s", f.Evidence, methods[method(f)], strings.Join(at, ", "))
	tensors(b, "input", f.Inputs)
	tensors(b, "output", f.Outputs)
	if n := f.Parameters; n != nil {
		b.line("parameters", "%s (%d)%s", report.Count(n.Total), n.Total, modules(n.Modules))
	}
	if w := f.WeightsBytes; w != nil {
		b.line("weights", "%s in fp32, %s in fp16", report.Bytes(w["fp32"]), report.Bytes(w["fp16"]))
	}
	if n := f.Flops; n != nil {
		b.line("operations", "%sFLOPs per forward (%d kinds of operators are not counted)", spaced(report.Count(n.Total)), len(n.NotCounted))
	}
	if n := f.Bytes; n != nil {
		b.line("bytes", "%s read, %s written", report.Bytes(n.Read), report.Bytes(n.Written))
	}
	if n := f.Activations; n != nil {
		b.line("activations", "%s at peak, %s in all", report.Bytes(n.PeakBytes), report.Bytes(n.SumBytes))
	}
	if f.Attention != nil {
		b.line("attention", "%s", *f.Attention)
	}
	if f.Experts != nil {
		b.line("experts", "%s; counted: %s", f.Experts.Implementation, f.Experts.Counted)
	}
	operators(b, f.Operators)
	for _, note := range f.Notes {
		b.line("note", "%s", note)
	}
}

// methods say how facts were derived.
var methods = map[string]string{"shapes": " from shapes alone", "cpu": " from a run on the CPU"}

func method(f *facts.Sheet) string {
	if f.Method == nil {
		return ""
	}
	return *f.Method
}

// spaced puts a unit's letter next to what follows: "28.5 G" + "FLOPs".
func spaced(count string) string {
	if strings.Contains(count, " ") {
		return count
	}
	return count + " "
}

// maxOutputs is how many tensors are listed: some models give every layer's.
const maxOutputs = 12

func tensors(b *printer, name string, list []cell.Output) {
	for i, t := range list {
		if i == maxOutputs {
			b.line(name, "and %d more", len(list)-i)
			return
		}
		b.line(name, "%s %s %s", t.Name, t.DType, shape(t.Shape))
	}
}

func modules(list []facts.Module) string {
	if len(list) < 2 {
		return ""
	}
	var parts []string
	for _, m := range list {
		parts = append(parts, cmp.Or(m.Name, "own")+" "+report.Count(m.Parameters))
	}
	return ": " + strings.Join(parts, ", ")
}

// maxOperators is how many are shown; JSON has all.
const maxOperators = 8

// operators are the most frequent that move or compute, whatever their dtypes.
func operators(b *printer, census *facts.Operators) {
	if census == nil {
		return
	}
	counts := map[string]int64{}
	for _, row := range census.Rows {
		if !row.View {
			counts[strings.TrimSuffix(row.Name, ".default")] += row.Count
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), strings.Compare(x, y))
	})
	var top []string
	for _, name := range names[:min(len(names), maxOperators)] {
		top = append(top, fmt.Sprintf("%s ×%d", name, counts[name]))
	}
	b.line("operators", "%d calls of %d: %s", census.Calls, census.Distinct, strings.Join(top, ", "))
}

// ran is what ran where, and what is known about the rest.
func (p Page) ran(b *printer) {
	for _, r := range p.Ran {
		of := []string{cmp.Or(r.Target, r.Platform), r.Size, r.DType}
		for _, s := range append([]string{r.Task, r.Checkpoint}, r.Beside...) {
			if s != "" {
				of = append(of, s)
			}
		}
		evidence := string(r.Evidence)
		if r.Imported {
			evidence += ", imported"
		}
		text := fmt.Sprintf("%s: %s (%s)", strings.Join(of, ", "), cell.Shown(r.Verdict, r.Evidence).Word(), evidence)
		if r.StartedAt != nil {
			text += " on " + r.StartedAt.UTC().Format("2006-01-02")
		}
		if v := r.Versions["transformers"]; v != "" {
			text += " with transformers " + v
		}
		if r.Class != "" {
			text += ", " + string(r.Class)
		}
		if r.Why != "" {
			text += ": " + r.Why
		}
		name := "ran"
		if r.Evidence.Unrun() || r.Verdict == cell.Unavailable {
			name = "not run"
		}
		b.line(name, "%s", text)
	}
}

// published is what the atlas says where nothing ran here.
func (p Page) published(b *printer) {
	for _, a := range p.Atlas {
		text := fmt.Sprintf("%s, tiny, %s: %s (%s) on %s", a.Target, a.DType, a.Shown().Word(), a.Evidence, a.At.Format("2006-01-02"))
		if a.Why != "" {
			text += ": " + a.Why
		}
		b.line("atlas", "%s", text)
	}
}

// missing is what is not known, and why.
func (p Page) missing(b *printer) {
	b.line("no recipe", "%s", p.NoRecipe)
	b.line("no facts", "%s", p.NoFacts)
	b.line("no results", "%s", p.NoRan)
	if p.Facts == nil {
		return
	}
	fields := map[string][]string{}
	for name, why := range p.Facts.Missing {
		fields[why] = append(fields[why], name)
	}
	for _, why := range slices.Sorted(maps.Keys(fields)) {
		slices.Sort(fields[why])
		b.line("not known", "%s: %s", strings.Join(fields[why], ", "), why)
	}
}
