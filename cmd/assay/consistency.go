package main

import (
	"context"
	"io"
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
	rep, err := a.carryShowing(ctx, s, plan, "test")
	if err != nil {
		return err
	}
	tables, err := consistency.Tables(ctx, folder, rep.Results, s.Compare)
	if err != nil {
		return err
	}
	err = a.print(consistencyAnswer{Schema: 1, Consistency: tables}, func(w io.Writer) error {
		return report.WriteConsistency(report.Terminal(w, a.environ()), tables)
	})
	if err != nil {
		return err
	}
	return status(rep.Results, f.Strict)
}
