package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"assay/internal/cell"
	"assay/internal/generate/folder"
	"assay/internal/history"
	"assay/internal/platform"
	"assay/internal/trial"

	"github.com/spf13/cobra"
)

// runFlags say how generated files are run.
type runFlags struct {
	run     bool
	device  string
	workers int
	alone   bool // the files take nothing that was made for them before
}

func (f *runFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVar(&f.run, "run-tests", false, "run the files under pytest in the managed environment, and compare with the stored results of their models")
	fs.StringVar(&f.device, "device", "cpu", "where --run-tests runs them: names of platforms, or auto")
	fs.IntVar(&f.workers, "workers", 2, "processes of --run-tests")
}

// runGenerated runs the tests of models, and prints what became of them.
func (a *app) runGenerated(ctx context.Context, f *runFlags, dir string, models []folder.Model) error {
	if f.workers < 1 {
		return usage("--workers %d is out of range: it must be at least 1", f.workers)
	}
	devices, err := trial.Devices(f.device, f.alone)
	if err != nil {
		return usage("%w", err)
	}
	h, err := a.home().History()
	if err != nil {
		return err
	}
	began := time.Now()
	var all []trial.Model
	for _, device := range devices {
		on := trial.On(device, trial.OfFolder(models))
		run := a.runFiles
		if f.alone && trial.InPages(device) {
			run = a.runPages
		}
		if err := run(ctx, f, device, dir, on); err != nil {
			return err
		}
		if p, ok := platform.Get(platform.Name(device)); !ok {
			a.say("not compared with stored results: --device must name a single platform")
		} else if err := crossCheck(ctx, h, p, on); err != nil {
			return err
		}
		all = append(all, on...)
	}
	return a.printTrials(all, time.Since(began))
}

// crossCheck compares the tests' outcome with stored results.
func crossCheck(ctx context.Context, h *history.History, on platform.Platform, models []trial.Model) error {
	newest, err := h.UsualVerdicts(ctx, on)
	if err != nil {
		return err
	}
	trial.CrossCheck(models, func(model, task string, batch int) cell.Verdict {
		return newest[history.Head{Type: model, Task: task, Batch: batch}]
	})
	return nil
}

// printTrials prints a row for each pipeline, then what failed and what disagrees.
func (a *app) printTrials(models []trial.Model, took time.Duration) error {
	all, pipelines := trial.Count(models)
	answer := generateRunAnswer{Schema: 1, Files: models, Passed: all.Passed, Failed: all.Failed, Skipped: all.Skipped(), Seconds: took.Seconds()}
	err := a.print(answer, func(w io.Writer) error { return writeTrials(w, models, all, pipelines, took) })
	if err == nil && all.Failed > 0 {
		err = &statusError{exitFails, nil}
	}
	return err
}

func writeTrials(out io.Writer, models []trial.Model, all trial.Sum, pipelines []trial.Sum, took time.Duration) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PIPELINE\tFILES\tPASS\tFAIL\tSKIPPED\t")
	for _, s := range pipelines {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", cmp.Or(s.Pipeline, "other"), s.Files, s.Passed, s.Failed, s.Skipped())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range models {
		for _, c := range m.Failed {
			fmt.Fprintf(out, "✗ %s on %s, %s: %s\n", filepath.Base(m.Name), m.Device, c.Test, shortened(c.Why, 150))
		}
	}
	for _, m := range models {
		if m.Disagrees != "" {
			fmt.Fprintf(out, "≠ %s: %s\n", m.Model, m.Disagrees)
		}
	}
	fmt.Fprintf(out, "\n%s in %s: %d pass, %d fail, %d skipped\n", counted(all.Files, "file", "files"), took.Round(time.Second), all.Passed, all.Failed, all.Skipped())
	if all.Stored > 0 {
		fmt.Fprintf(out, "of %d with a stored result, %d work there\n", all.Stored, all.StoredAsWorking)
	}
	return nil
}
