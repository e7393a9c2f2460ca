package main

import (
	"context"
	"errors"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/sweep"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

// resultsFlags are those of fleet results.
type resultsFlags struct{ save, wait bool }

func fleetResults(a *app, f *fleetFlag) *cobra.Command {
	r := &resultsFlags{}
	c := &cobra.Command{
		Use: "results SWEEP", Short: "A sweep's results, whoever sent it: also when its sender is gone",
		Long: `Results prints what a sweep has come to, as the command that sent it would have. The coordinator keeps all results: those of a
sweep whose sender was killed or cut off come home so. assay fleet status lists the sweeps.
` + exitHelp,
		Example: `  assay fleet results 20261118T020000Z-abcdef
  assay fleet results 20261118T020000Z-abcdef --wait --save
  assay fleet results 20261118T020000Z-abcdef --json`, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.ask(f, func(o fleet.Office) error { return a.fetchResults(c.Context(), o, r, args[0]) })
		},
	}
	c.Flags().BoolVar(&r.save, "save", false, "also add the results to this machine's journals, marked as imported; those that are there already stay as they are")
	c.Flags().BoolVar(&r.wait, "wait", false, "wait until every cell has a result")
	return c
}

// fetchResults prints a sweep's results, and keeps them if that is wanted.
func (a *app) fetchResults(ctx context.Context, o fleet.Office, r *resultsFlags, id string) error {
	begun := time.Now()
	bar := report.NewProgress(a.stderr, a.terminal, a.environ())
	printer, done := a.printer(&carryFlags{}, bar.Above(a.stdout))
	f, err := sweep.Fetch(ctx, o, id, r.wait, report.Listen(printer))
	bar.Close()
	if f == nil {
		return err
	}
	err = errors.Join(err, printer.Done(report.Summary{Run: f.Run, Host: f.Host, Elapsed: time.Since(begun), Stopped: ctx.Err() != nil}), done())
	if err == nil && r.save {
		err = a.saveResults(ctx, f)
	}
	switch {
	case err != nil:
		return err
	case f.Cancelled:
		a.say("the sweep was cancelled: cells without a result will get none")
	case f.Left > 0:
		a.say(counted(f.Left, "cell has", "cells have") + " no result yet: --wait waits for them")
	}
	return status(f.Results, false)
}

func (a *app) saveResults(ctx context.Context, f *sweep.Fetched) error {
	dir, err := a.home().JournalsToWrite(ctx)
	if err != nil {
		return err
	}
	look := a.openLook()
	defer look.Close()
	done, err := f.Save(dir, look.Here())
	if err != nil {
		return err
	}
	for _, p := range done.Problems {
		a.say("warning: " + p.Error())
	}
	a.say(counted(done.New, "result is", "results are") + " new in this machine's journals, " + counted(done.Known, "was", "were") + " there already")
	return nil
}
