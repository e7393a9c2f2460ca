// Package table is the table that Assay publishes: every type of the catalogue
// on every platform, from the journals that lie in the repository.
//
// Columns says which cells belong to it, and Plan makes the plan that a machine
// runs. Read takes the journals of those runs in, and Fold puts the newest
// answer of each cell into its place. What nobody ran stays empty: a share is
// printed only where nine tenths of a column have an answer. Each column names
// the runs that it comes from, each run its commit, machine and versions.
package table

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

// Column is a target in one dtype.
type Column struct {
	Target string
	DType  platform.DType
}

func (c Column) String() string { return c.Target + " " + string(c.DType) }

// columns are those of the table, in order.
var columns = []struct {
	target string
	dtypes []platform.DType
}{
	{"cpu", []platform.DType{platform.FP32, platform.FP16, platform.BF16}},
	{"cpu/onnxruntime", []platform.DType{platform.FP32}},
	{"cuda", []platform.DType{platform.FP32, platform.FP16, platform.BF16}},
	{"openvino", []platform.DType{platform.FP32, platform.FP16, platform.INT8}},
	{"qnn", []platform.DType{platform.FP16}},
	{"webnn", []platform.DType{platform.FP32}},
	{"webgpu", []platform.DType{platform.FP32}},
	{"rocm", []platform.DType{platform.FP32}},
	{"mps", []platform.DType{platform.FP32}},
	{"mps/coreml", []platform.DType{platform.FP16}},
}

// Columns lists the columns of the table.
func Columns() []Column {
	var all []Column
	for _, c := range columns {
		for _, d := range c.dtypes {
			all = append(all, Column{c.target, d})
		}
	}
	return all
}

// Targets lists the targets of the table.
func Targets() []string {
	var all []string
	for _, c := range columns {
		all = append(all, c.target)
	}
	return all
}

// is tells whether somebody means a column: by its target, or by its own name.
func (c Column) is(name string) bool { return name == c.Target || name == c.String() }

// cell is the one of a type in a column.
func (c Column) cell(modelType string) cell.Cell {
	return cell.Cell{Type: modelType, Target: c.Target, DType: c.DType, Size: cell.Tiny}.Normal()
}

// Plan is the plan of the table in these columns, each a target, or a target and one
// of its dtypes ("openvino fp32"). It goes through the families in turn, so that a run
// that is cut short has seen something of each; the cells of a type stand together,
// because they share its export.
func Plan(cat *catalog.Catalog, asked []string) (cell.Plan, error) {
	for _, name := range asked {
		if !slices.ContainsFunc(Columns(), func(c Column) bool { return c.is(name) }) {
			return cell.Plan{}, fmt.Errorf("the table has no target %q: it has %s", name, strings.Join(Targets(), ", "))
		}
	}
	types, err := Types(cat)
	plan := cell.Plan{Timing: cell.Functional, NoFallback: true}
	for _, e := range inTurn(types) {
		for _, c := range Columns() {
			if slices.ContainsFunc(asked, c.is) {
				plan.Cells = append(plan.Cells, c.cell(e.Type))
			}
		}
	}
	return plan, err
}

// Types are the rows of the table.
func Types(cat *catalog.Catalog) ([]catalog.Entry, error) {
	chosen, err := cat.Select(catalog.Selector{All: true})
	types := make([]catalog.Entry, len(chosen))
	for i, c := range chosen {
		types[i] = c.Entry
	}
	return types, err
}

// inTurn orders types so that the first of each family come first, then the second.
func inTurn(entries []catalog.Entry) []catalog.Entry {
	place, seen := map[string]int{}, map[string]int{}
	for _, e := range entries {
		place[e.Type] = seen[e.Family]
		seen[e.Family]++
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b catalog.Entry) int {
		return cmp.Or(cmp.Compare(place[a.Type], place[b.Type]), cmp.Compare(a.Family, b.Family))
	})
	return entries
}

// Table is what is known of each type in each column.
type Table struct {
	Columns []Column
	Rows    []Row
	Runs    []Run // those that something in it comes from, the oldest first
}

// Row is a type of the catalogue.
type Row struct {
	Type, Family string
	Answers      []*Answer // for each column; nil where nobody ran it
}

// Answer is a result and the run that it comes from.
type Answer struct {
	cell.Result
	Run string
}

// newest are the answers by the hash of the cell that was asked for. The newest
// counts, of those under which the machine did not break; what ran elsewhere in an
// absent device's place is not an answer.
func newest(runs []Run) map[string]*Answer {
	found := map[string]*Answer{}
	for _, run := range runs {
		for _, r := range run.results {
			old := found[r.AskedHash()]
			if r.Broke() || r.Fallback != nil && r.Fallback.From != "" || old != nil && !r.StartedAt.After(old.StartedAt) {
				continue
			}
			found[r.AskedHash()] = &Answer{r, run.ID}
		}
	}
	return found
}

// Left are the cells of a plan that no run has an answer to: what a table that grows
// over several sittings, or machines, still lacks.
func Left(plan cell.Plan, runs []Run) cell.Plan {
	found := newest(runs)
	plan.Cells = slices.DeleteFunc(slices.Clone(plan.Cells), func(c cell.Cell) bool { return found[c.Hash] != nil })
	return plan
}

// Fold puts answers into their places.
func Fold(entries []catalog.Entry, runs []Run) Table {
	found, used := newest(runs), map[string]bool{}
	t := Table{Columns: Columns()}
	for _, e := range entries {
		row := Row{Type: e.Type, Family: e.Family}
		for _, c := range t.Columns {
			a := found[c.cell(e.Type).Hash]
			row.Answers = append(row.Answers, a)
			if a != nil {
				used[a.Run] = true
			}
		}
		t.Rows = append(t.Rows, row)
	}
	slices.SortFunc(t.Rows, func(a, b Row) int { return cmp.Compare(a.Type, b.Type) })
	for _, run := range runs {
		if used[run.ID] {
			t.Runs = append(t.Runs, run)
		}
	}
	return t
}

// Files are the journals in a folder.
func Files(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.br"))
	slices.Sort(files)
	return files, err
}
