package snapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
)

// WriteText prints the difference for people.
func (d Difference) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s → %s\n", d.Old, d.New)
	if d.Added == nil {
		b.WriteString("types: not compared, since one side holds no catalogue\n")
	}
	list(&b, "types added", d.Added, typeLine)
	list(&b, "types removed", d.Removed, typeLine)
	list(&b, "types changed", d.Changed, Change.String)
	if d.Broken == nil {
		b.WriteString("results: not compared, since one side holds no sweep\n")
	}
	list(&b, "broken", d.Broken, Turn.String)
	list(&b, "fixed", d.Mended, Turn.String)
	list(&b, "changed in other ways", d.Other, Turn.String)
	list(&b, "other answers", d.Answers, Answer.String)
	list(&b, "answers not comparable", d.NotComparable, Answer.String)
	list(&b, "failing, not tried before", d.Failing, func(o Outcome) string { return o.model() + ": " + o.said() })
	_, err := w.Write(b.Bytes())
	return err
}

// list prints a heading with a count, and a line each; nothing where the list
// was not made.
func list[T any](b *bytes.Buffer, name string, items []T, line func(T) string) {
	if items == nil {
		return
	}
	fmt.Fprintf(b, "%s: %d\n", name, len(items))
	for _, x := range items {
		fmt.Fprintf(b, "  %s\n", line(x))
	}
}

func typeLine(r catalog.Row) string {
	return fmt.Sprintf("%s (%s)", r.Type, cmp.Or(r.Class, "component"))
}

func (s Side) String() string {
	var has []string
	if s.Transformers != "" {
		has = append(has, "transformers "+s.Transformers)
	}
	has = append(has, fmt.Sprintf("%d types", s.Types))
	if s.Outcomes > 0 {
		has = append(has, fmt.Sprintf("%d outcomes", s.Outcomes))
	}
	return fmt.Sprintf("%s (%s)", s.Name, strings.Join(has, ", "))
}

func (c Change) String() string {
	return fmt.Sprintf("%s: %s: %s → %s", c.Type, c.Field, cmp.Or(c.Old, "none"), cmp.Or(c.New, "none"))
}

func (t Turn) String() string {
	if t.New == nil {
		return fmt.Sprintf("%s: %s → the type is gone", t.Old.model(), t.Old.word())
	}
	return fmt.Sprintf("%s: %s → %s", t.Old.model(), t.Old.said(), t.New.said())
}

func (a Answer) String() string { return a.Outcome.model() + ": " + a.Changed.String() }

// model names the model with its settings.
func (o Outcome) model() string {
	settings := []string{cmp.Or(o.Target, o.Platform)}
	for _, s := range []string{o.Size, o.DType, o.Task} {
		if s != "" {
			settings = append(settings, s)
		}
	}
	if o.Other != nil {
		settings = append(settings, o.Other.Beside()...)
		if r := o.Other.Revision; r != "" {
			settings = append(settings, "revision "+r)
		}
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(o.Checkpoint, o.Type), strings.Join(settings, ", "))
}

// word is the verdict as people are shown it.
func (o Outcome) word() string { return cell.Shown(o.Verdict, o.Evidence).Word() }

// said is the verdict, with class and place where it fails.
func (o Outcome) said() string {
	text := o.word()
	if o.Class != "" {
		text += ", " + string(o.Class)
	}
	if o.runs() || o.Detail == "" {
		return text
	}
	return text + ": " + o.Detail
}
