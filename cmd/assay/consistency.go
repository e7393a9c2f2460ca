package main

import (
	"context"
	"os"

	"assay/internal/cell"
	"assay/internal/consistency"
	"assay/internal/report"
)

// testConsistency runs models on every platform here and compares their outputs
// with each other: numbers that agree with one reference may still disagree
// among themselves.
func (a *app) testConsistency(ctx context.Context, f *carryFlags, args []string) error {
	if f.none(args) {
		return usage("test --consistency needs a model: a type (bert), a checkpoint (bert-base-uncased), or a selector such as --key")
	}
	if !f.flags.Changed("platform") {
		f.Targets = consistency.Everywhere()
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
	tables, err := consistency.Tables(ctx, folder, rep.Results, s.Compare)
	if err != nil {
		return err
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
