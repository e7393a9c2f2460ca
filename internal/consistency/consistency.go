// Package consistency compares the outputs of one model on several targets with
// each other: numbers that agree with one reference may still disagree among
// themselves.
//
// The outputs are files that the lab kept, one for each cell; comparing two of
// them is the runner's work.
package consistency

import (
	"context"
	"os"
	"slices"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/report"
	"assay/internal/session"
)

// Everywhere are the targets that are compared when nobody names any: one for
// each engine that can be here.
func Everywhere() []string {
	return []string{"cpu", "cpu/onnxruntime", "cuda", "rocm", "mps", "openvino", "qnn"}
}

// Compare compares every pair of files, and of each pair of batches the first
// row of the second with the first; see session.Session.Compare.
type Compare func(ctx context.Context, files []string, batches [][2]string) (session.Differences, error)

// Tables makes a table for each model of the results, whose outputs lie in the
// folder.
func Tables(ctx context.Context, folder string, results []cell.Result, compare Compare) ([]report.Consistency, error) {
	var out []report.Consistency
	for _, of := range byModel(results) {
		table, err := makeTable(ctx, folder, of, compare)
		if err != nil {
			return nil, err
		}
		out = append(out, table)
	}
	return out, nil
}

// byModel gathers the results of each model, in the order in which models
// came first.
func byModel(results []cell.Result) [][]cell.Result {
	var out [][]cell.Result
	key := func(r cell.Result) cell.Key {
		return r.Cell.Key(cell.AnyTarget, cell.AnySpecial, cell.AnyDType, cell.AnyTask, cell.AnyBatch, cell.AnyThreads)
	}
	for _, r := range results {
		i := slices.IndexFunc(out, func(rs []cell.Result) bool { return key(rs[0]) == key(r) })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	for _, rs := range out {
		slices.SortStableFunc(rs, func(a, b cell.Result) int { return place(a) - place(b) })
	}
	return out
}

// place is where a target stands in the table; others come last.
func place(r cell.Result) int {
	all := Everywhere()
	if i := slices.Index(all, r.Cell.Target); i >= 0 {
		return i
	}
	return len(all)
}

// makeTable makes the table of one model: pairs of targets at the smallest
// batch, and for each target its batches against the smallest.
func makeTable(ctx context.Context, folder string, results []cell.Result, compare Compare) (report.Consistency, error) {
	c := results[0].Cell
	table := report.Consistency{Model: c.Model(), Size: c.Size, Weights: c.Weights, Batch: results[0].Cell.Batch}
	for _, r := range results {
		table.Batch = min(table.Batch, r.Cell.Batch)
	}
	labels, single := map[string]string{}, map[string]string{} // file → target and dtype, and back
	var files []string
	for _, r := range atBatch(results, table.Batch, true) {
		file, name := lab.Kept(folder, r.Cell), label(r.Cell)
		if !exists(file) {
			table.Missing = append(table.Missing, report.MissingOutput{Target: name, Why: report.Why(r)})
			continue
		}
		labels[file], single[name] = name, file
		files, table.Targets = append(files, file), append(table.Targets, name)
	}
	var batches [][2]string
	for _, r := range atBatch(results, table.Batch, false) {
		file, name := lab.Kept(folder, r.Cell), label(r.Cell)
		if one := single[name]; one != "" && table.Batch == 1 && exists(file) {
			labels[file] = name
			batches = append(batches, [2]string{one, file})
		}
	}
	found, err := compare(ctx, files, batches)
	table.Pairs, table.Batches = pairs(found.Pairs, labels), pairs(found.Batches, labels)
	return table, err
}

func label(c cell.Cell) string { return c.Target + " " + string(c.DType) }

func pairs(found []session.Difference, labels map[string]string) []report.Pair {
	var out []report.Pair
	for _, d := range found {
		out = append(out, report.Pair{A: labels[d.A], B: labels[d.B], MaxRel: d.MaxRel, Output: d.Output, Note: d.Note})
	}
	return out
}

// atBatch are the results at a batch, or those at others.
func atBatch(results []cell.Result, batch int, at bool) []cell.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r cell.Result) bool { return (r.Cell.Batch == batch) != at })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
