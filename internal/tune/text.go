package tune

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"assay/internal/cell"
)

// WriteText prints a report as one table, with what was measured where above
// it and what else there is to know below.
func WriteText(out io.Writer, r Report) error {
	for _, target := range slices.Sorted(maps.Keys(r.Settings)) {
		fmt.Fprintf(out, "%s: %s\n", target, r.Settings[target])
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nWHAT\tOF\tON\tA\tB\tA MS\tB MS\tB/A (95 %)\tANSWER")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			row.What, row.Subject, row.Target, row.A.Name, row.B.Name, row.A.median(), row.B.median(), row.interval(), row.Verdict())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, row := range r.Rows {
		if notes := slices.Concat(row.Notes, row.Warnings); len(notes) > 0 {
			fmt.Fprintf(out, "%s, %s on %s: %s\n", row.What, row.Subject, row.Target, strings.Join(notes, "; "))
		}
	}
	return nil
}

// String is the setting in a line for people.
func (s Setting) String() string {
	text := fmt.Sprintf("%s %s", s.Browser, s.Version)
	if s.Adapter != nil {
		text += ", WebGPU by " + s.Adapter.Name()
	}
	if s.Evidence == cell.Emulated {
		text += ": software, so its times are emulated and say nothing about a GPU"
	}
	return text
}

func (w Way) median() string {
	if w.MedianMS == nil {
		return ""
	}
	return ms(*w.MedianMS)
}

func (r Row) interval() string {
	switch {
	case r.Ratio == nil:
		return ""
	case r.Lo == nil:
		return fmt.Sprintf("%.3g", *r.Ratio)
	}
	return fmt.Sprintf("%.3g [%.3g, %.3g]", *r.Ratio, *r.Lo, *r.Hi)
}

// ms writes milliseconds with three digits.
func ms(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
