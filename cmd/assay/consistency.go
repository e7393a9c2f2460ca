package main

import (
	"context"
	"os"
	"slices"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/report"
	"assay/internal/session"
)

// everywhere are the targets that consistency is about when nobody names any:
// one for each engine that can be here.
var everywhere = []string{"cpu", "cpu/onnxruntime", "cuda", "rocm", "mps", "openvino", "qnn"}

// consistency runs models on every platform here and compares their outputs
// with each other: numbers that agree with one reference may still disagree
// among themselves.
func (a *app) consistency(ctx context.Context, f *carryFlags, args []string) error {
	if f.none(args) {
		return usage("test --consistency needs a model: a type (bert), a checkpoint (bert-base-uncased), or a selector such as --key")
	}
	if !f.flags.Changed("platform") {
		f.Targets = everywhere
	}
	if !f.flags.Changed("batch") {
		f.Batches = []int{1, 2}
	}
	if err := f.check(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "assay-outputs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	f.keep, f.NoFallback = folder, true
	s, plan, err := a.prepare(ctx, f, args, cell.Functional)
	if err != nil {
		return err
	}
	defer s.Close()
	progress := report.NewProgress(a.stderr, a.terminal, a.environ())
	rep, err := a.carry(ctx, s, plan, "test", progress)
	progress.Close()
	if err != nil {
		return err
	}
	var tables []report.Consistency
	for _, results := range byModel(rep.Results) {
		table, err := compared(ctx, s, folder, results)
		if err != nil {
			return err
		}
		tables = append(tables, table)
	}
	if a.asJSON {
		err = a.printJSON(consistencyAnswer{Schema: 1, Consistency: tables})
	} else {
		err = report.WriteConsistency(report.Terminal(a.stdout, a.environ()), tables)
	}
	if err != nil {
		return err
	}
	return status(rep.Results, f.Strict)
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
	if i := slices.Index(everywhere, r.Cell.Target); i >= 0 {
		return i
	}
	return len(everywhere)
}

// compared makes the table of one model: pairs of targets at the smallest
// batch, and for each target its batches against the smallest.
func compared(ctx context.Context, s *session.Session, folder string, results []cell.Result) (report.Consistency, error) {
	c := results[0].Cell
	table := report.Consistency{Model: c.Model(), Size: c.Size, Weights: c.Weights, Batch: results[0].Cell.Batch}
	for _, r := range results {
		table.Batch = min(table.Batch, r.Cell.Batch)
	}
	labels, single := map[string]string{}, map[string]string{} // file → target and dtype, and back
	var files []string
	for _, r := range atBatch(results, table.Batch, true) {
		file, name := lab.Kept(folder, r.Cell), r.Cell.Target+" "+string(r.Cell.DType)
		if !exists(file) {
			table.Missing = append(table.Missing, report.MissingOutput{Target: name, Why: report.Why(r)})
			continue
		}
		labels[file], single[name] = name, file
		files, table.Targets = append(files, file), append(table.Targets, name)
	}
	var batches [][2]string
	for _, r := range atBatch(results, table.Batch, false) {
		file, name := lab.Kept(folder, r.Cell), r.Cell.Target+" "+string(r.Cell.DType)
		if one := single[name]; one != "" && table.Batch == 1 && exists(file) {
			labels[file] = name
			batches = append(batches, [2]string{one, file})
		}
	}
	found, err := s.Compare(ctx, files, batches)
	if err != nil {
		return table, err
	}
	for _, d := range found.Pairs {
		table.Pairs = append(table.Pairs, report.Pair{A: labels[d.A], B: labels[d.B], MaxRel: d.MaxRel, Output: d.Output, Note: d.Note})
	}
	for _, d := range found.Batches {
		table.Batches = append(table.Batches, report.Pair{A: labels[d.A], B: labels[d.B], MaxRel: d.MaxRel, Output: d.Output, Note: d.Note})
	}
	return table, nil
}

// atBatch are the results at a batch, or those at others.
func atBatch(results []cell.Result, batch int, at bool) []cell.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r cell.Result) bool { return (r.Cell.Batch == batch) != at })
}
