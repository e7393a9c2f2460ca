package table

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

// fullColumns are where checkpoints run at their true size.
var fullColumns = []Column{
	{"cpu", platform.FP32}, {"cpu/onnxruntime", platform.FP32}, {"openvino", platform.FP32},
	{"qnn", platform.FP16}, {"webnn", platform.FP32}, {"cuda", platform.FP32},
}

// Pair is a checkpoint in a column: what the tiny model of its type gave there, and
// what its own true size did. Either may be nil.
type Pair struct {
	Checkpoint string
	Type       string
	Column     Column
	Tiny, Full *Answer
}

// Agree reports whether both sizes ran and gave one verdict.
func (p Pair) Agree() bool { return p.both() && p.Tiny.Verdict == p.Full.Verdict }

func (p Pair) both() bool { return p.Tiny != nil && p.Full != nil }

// open reports whether the full size ran and nothing could be said of its outputs.
func (p Pair) open() bool {
	return p.Full != nil && p.Full.Verdict == cell.Partial && p.Full.Numerics == nil
}

// full is the cell of a checkpoint in a column.
func (c Column) full(modelType, checkpoint string) cell.Cell {
	return cell.Cell{Type: modelType, Checkpoint: checkpoint, Target: c.Target, DType: c.DType, Size: cell.Full, Weights: cell.Random}.Normal()
}

// FullPlan is the plan of all checkpoints at their true size on these targets, the
// smallest first.
func FullPlan(cat *catalog.Catalog, targets []string) (cell.Plan, error) {
	plan := cell.Plan{Timing: cell.Functional, NoFallback: true}
	for _, t := range targets {
		if !slices.ContainsFunc(fullColumns, func(c Column) bool { return c.Target == t }) {
			return plan, fmt.Errorf("checkpoints are not run at full size on %q", t)
		}
	}
	for _, k := range bySize(cat) {
		for _, c := range fullColumns {
			if slices.Contains(targets, c.Target) {
				plan.Cells = append(plan.Cells, c.full(k.Type, k.Name))
			}
		}
	}
	return plan, nil
}

func bySize(cat *catalog.Catalog) []catalog.Checkpoint {
	all := slices.DeleteFunc(cat.Checkpoints(), func(k catalog.Checkpoint) bool {
		_, err := cat.Recipe(k.Type, "", cell.Full, k.Name)
		return err != nil
	})
	slices.SortFunc(all, func(a, b catalog.Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Parameters, b.Parameters), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Pairs compares the sizes of every checkpoint in every column that has a full one.
func Pairs(cat *catalog.Catalog, runs []Run) []Pair {
	found := newest(runs)
	var pairs []Pair
	for _, k := range bySize(cat) {
		for _, c := range fullColumns {
			p := Pair{k.Name, k.Type, c, found[c.cell(k.Type).Hash], found[c.full(k.Type, k.Name).Hash]}
			if p.Full != nil {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// WriteFull writes the page about tiny and full sizes. Causes say why a pair differs,
// by checkpoint and column.
func WriteFull(w io.Writer, pairs []Pair, causes map[string]string) error {
	var b strings.Builder
	b.WriteString(`# Does tiny speak for full?
Nearly every verdict of Assay rests on a tiny model: the type's own code with few layers and short sides. Here checkpoints with their true configurations and random weights ran at
full size, and each is compared with the tiny model of its type in the same column of [the whole table](table.md). The page is made from the journals in ` + "`tables/`" + ` by ` + "`make table-docs`" + `.

| column | checkpoints at full size | with a tiny answer | the same verdict | different | of these, nothing can be said of the full size |
| --- | ---: | ---: | ---: | ---: | ---: |
`)
	for _, c := range fullColumns {
		fmt.Fprintf(&b, "| %s | %s |\n", c, agreement(in(pairs, c)))
	}
	b.WriteString("\n## Where they differ\n| checkpoint | column | tiny | full | cause |\n| --- | --- | --- | --- | --- |\n")
	for _, p := range pairs {
		if p.both() && !p.Agree() {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.Checkpoint, p.Column, told(p.Tiny), told(p.Full), cmp.Or(causes[p.Checkpoint+" "+p.Column.String()], "not looked into"))
		}
	}
	b.WriteString("\n## All of them\nErrors are of the largest value, against torch in float32 on the CPU.\n\n| checkpoint | parameters | column | tiny | full |\n| --- | ---: | --- | --- | --- |\n")
	for _, p := range pairs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.Checkpoint, millions(p.Full.Parameters), p.Column, told(p.Tiny), told(p.Full))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func in(pairs []Pair, c Column) []Pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.Column != c })
}

// agreement is a column's row: how many ran, and how many of them agree with their tiny models.
func agreement(pairs []Pair) string {
	if len(pairs) == 0 {
		return "not run | | | |"
	}
	both, same, open := 0, 0, 0
	for _, p := range pairs {
		switch {
		case !p.both():
			continue
		case p.Agree():
			same++
		case p.open():
			open++
		}
		both++
	}
	return fmt.Sprintf("%d | %d | %d (%.1f %%) | %d | %d", len(pairs), both, same, 100*float64(same)/float64(max(both, 1)), both-same, open)
}

// told is an answer in a few words: the verdict, the error, and why it is less than works.
func told(a *Answer) string {
	if a == nil {
		return "not run"
	}
	parts := []string{a.Shown().Word()}
	if n := a.Numerics; n != nil && n.MaxRel != nil {
		parts = append(parts, fmt.Sprintf("error %.1e", *n.MaxRel))
	}
	if a.Failure != nil {
		parts = append(parts, string(a.Failure.Class))
	}
	if a.Verdict == cell.Partial && a.Note != "" {
		parts = append(parts, strings.ReplaceAll(a.Note, "|", "/"))
	}
	return strings.Join(parts, ", ")
}

func millions(n int64) string { return fmt.Sprintf("%.0f M", float64(n)/1e6) }
