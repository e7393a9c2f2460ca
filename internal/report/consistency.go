package report

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/cell"
)

// Consistency is how far the outputs of a model on several targets are from
// each other.
type Consistency struct {
	Model   string          `json:"model"`
	Size    string          `json:"size"`
	Weights string          `json:"weights"`
	Batch   int             `json:"batch"`
	Targets []string        `json:"targets"` // those with outputs, each with its dtype
	Pairs   []Pair          `json:"pairs"`
	Batches []Pair          `json:"batches"` // of each target: a batch's first row against a single input
	Missing []MissingOutput `json:"missing"`
}

// Pair is the largest difference between two sets of outputs, over the largest
// value of either; nil where nothing could be compared.
type Pair struct {
	A      string   `json:"a"`
	B      string   `json:"b"`
	MaxRel *float64 `json:"max_rel"`
	Output string   `json:"output"`
	Note   string   `json:"note,omitempty"`
}

// MissingOutput is a target that gave no outputs.
type MissingOutput struct {
	Target string `json:"target"`
	Why    string `json:"why"`
}

// Why is why a result is less than works, in a line.
func Why(r cell.Result) string {
	if r.Failure != nil {
		return fmt.Sprintf("%s: %s", r.Failure.Class, r.Failure.Detail)
	}
	return r.Note
}

// WriteConsistency prints a table of targets × targets for each model.
func WriteConsistency(out io.Writer, tables []Consistency) error {
	for i, t := range tables {
		var b strings.Builder
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s  %s\n", bold.Render(t.Model), faint.Render(fmt.Sprintf("%s, %s weights: largest difference over largest value", t.Size, t.Weights)))
		if err := t.grid().text(&b, "  "); err != nil {
			return err
		}
		for _, m := range t.Missing {
			fmt.Fprintf(&b, "  no output on %s: %s\n", m.Target, m.Why)
		}
		if _, err := io.WriteString(plain(out), b.String()); err != nil {
			return err
		}
	}
	return nil
}

// grid has a row and a column for each target, and a row for batches.
func (t Consistency) grid() grid {
	g := grid{head: append([]string{""}, t.Targets...)}
	for i := range t.Targets {
		g.numbers = append(g.numbers, i+1)
	}
	for _, a := range t.Targets {
		row := []string{a}
		for _, b := range t.Targets {
			row = append(row, t.between(a, b))
		}
		g.add(row...)
	}
	if len(t.Batches) > 0 {
		row := []string{"batch against single"}
		for _, target := range t.Targets {
			row = append(row, worstOf(t.Batches, target))
		}
		g.add(row...)
	}
	return g
}

func (t Consistency) between(a, b string) string {
	if a == b {
		return "·"
	}
	for _, p := range t.Pairs {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			return share(p.MaxRel)
		}
	}
	return ""
}

// worstOf is the largest of a target's differences.
func worstOf(pairs []Pair, target string) string {
	var worst *float64
	for _, p := range pairs {
		if p.A == target && p.MaxRel != nil && (worst == nil || *p.MaxRel > *worst) {
			worst = p.MaxRel
		}
	}
	return share(worst)
}

func share(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.1e", *x)
}
