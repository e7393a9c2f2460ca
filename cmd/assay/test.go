package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/progress"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

func testCommand(a *app) *cobra.Command {
	f := &carryFlags{}
	var consistency bool
	c := &cobra.Command{
		Use:   "test [MODEL…]",
		Short: "Does the model work there? Load it, run it, check its output",
		Long: `Test runs each cell once in its own child and checks what comes out: shapes, finite values,
agreement with a reference, and a negative control that proves the check can fail.
Times of test runs are not shown: use bench.
` + modelHelp + exitHelp,
		Example: `  assay test bert
  assay test bert-base-uncased --platform auto
  assay test --key --platform cpu,cuda --dtype fp32,fp16
  assay test bert --platform cuda --strict
  assay test bert --platform webgpu,webnn,cpu/wasm
  assay test --consistency vit
  assay test --laws --repro found bert gpt2 --platform cpu
  assay test --key --fleet nats://host:4222`,
		RunE: func(c *cobra.Command, args []string) error {
			if consistency && (c.Flags().Changed("laws") || f.repro != "") {
				return usage("--consistency compares platforms with each other and tries no laws: use --laws without it")
			}
			if consistency {
				return a.testConsistency(c.Context(), f, args)
			}
			if err := f.askLaws(); err != nil {
				return err
			}
			return a.runCells(c.Context(), f, args, "test", cell.Functional)
		},
	}
	f.add(c, "auto")
	f.addName(c)
	f.fleet.add(c)
	f.addOutput(c)
	f.addLaws(c)
	c.Flags().BoolVar(&consistency, "consistency", false, "compare the outputs of all platforms here with each other, and of a batch with a single input")
	return c
}

// modelHelp is what a command that runs cells takes for a model.
const modelHelp = `
MODEL is a type (bert: tiny, random weights), a checkpoint (bert-base-uncased: its true size),
any owner/name[@revision] of the Hub, a folder with a config.json, or an ONNX file (./model.onnx), which
runs on every engine that takes graphs: ONNX Runtime, OpenVINO, QNN and browsers.
`

func benchCommand(a *app) *cobra.Command {
	f, v := &carryFlags{}, &versusFlags{}
	var quick bool
	var repeats int
	var waitQuiet time.Duration
	c := &cobra.Command{
		Use:   "bench [MODEL…]",
		Short: "How well does it work there? Latency, throughput, memory, each with its certainty",
		Long: `Bench checks each cell as test does, then times it: fresh children one at a time, alone on the
machine, warmed up until stable, the device synchronised at both ends of each sample. The headline
is the median of the repeats' medians; intervals come from repeats, never from iterations.

--ab compares two settings (NAME=VALUE: any flag of a cell, model or python), their repeats interleaved in one run.
--baseline compares with stored results. Both have two stages: a cell whose medians differ by at least 2.5 % and by more
than two standard errors is run again, ten fresh repeats a side in shuffled order, and only those decide. Where the old
side is not at hand (--old-python), its stored repeats are used, and what the machine did meanwhile is inside.
With --baseline the exit status is 3 for a regression and 5 where nothing could be compared (see assay compare).
` + modelHelp + exitHelp,
		Example: `  assay bench --quick bert
  assay bench --quick bert --platform cpu --ab "threads=1" "threads=2"
  assay bench --quick bert --platform cpu && assay baseline set main && assay bench --quick bert --platform cpu --baseline main
  assay bench bert vit --batch 1,4,8
  assay bench --key --size full --platform cuda --dtype fp16
  assay bench --quick llama t5 --mode generate --prompt 16,64 --tokens 32 --platform cpu
  assay bench --quick bert --mode train --optimizer sgd --platform cpu
  assay bench --quick vit --wait-quiet 5s --pin 0 --platform cpu`,
		RunE: func(c *cobra.Command, args []string) error {
			timing := cell.Thorough
			if quick {
				timing = cell.Quick
			}
			if c.Flags().Changed("repeats") && repeats < 1 {
				return usage("--repeats %d: it must be at least 1", repeats)
			}
			if waitQuiet < 0 {
				return usage("--wait-quiet %s: it must not be negative", waitQuiet)
			}
			if f.MaxTempC < 0 || f.MaxTempC > 150 {
				return usage("--max-temp %g: it must be between 0 and 150 degrees", f.MaxTempC)
			}
			if err := lab.Pinnable(f.Pin); err != nil {
				return usage("--pin: %w", err)
			}
			f.Repeats, f.WaitQuietS = repeats, waitQuiet.Seconds()
			if err := v.check(a, c.Flags()); err != nil {
				return err
			}
			if v.asked() && (f.fleet.at != "" || len(f.fleet.labels) > 0 || f.fleet.urgent != 0) {
				return usage("--ab and --baseline time both sides on this machine: they cannot be used with --fleet")
			}
			switch {
			case len(v.ab) > 0:
				return a.benchAB(c.Context(), f, v, args, timing)
			case v.baseline != "":
				return a.benchBaseline(c.Context(), f, v, args, timing)
			}
			return a.runCells(c.Context(), f, args, "bench", timing)
		},
	}
	f.add(c, "auto")
	f.addName(c)
	f.fleet.add(c)
	f.addOutput(c)
	v.add(c)
	c.Flags().BoolVar(&quick, "quick", false, "3 repeats of 0.2 s instead of 6 of 1 s: no interval")
	c.Flags().DurationVar(&waitQuiet, "wait-quiet", 0, "wait so long for other programs to leave the processor alone, before each round of repeats (default: times are marked, none is waited for)")
	c.Flags().Float64Var(&f.MaxTempC, "max-temp", 0, "before each round of repeats, wait until the processor, and a GPU that is timed, are no warmer than so many degrees (default: any)")
	c.Flags().StringVar(&f.Pin, "pin", "", "hold timed children to these processors, such as 0-3,8 (Linux; default: any)")
	c.Flags().IntVar(&repeats, "repeats", 0, "fresh children per cell (default 6, with --quick 3)")
	return c
}

// runCells is test and bench: plan, carry out, print, and the exit status.
func (a *app) runCells(ctx context.Context, f *carryFlags, args []string, command string, timing cell.Timing) error {
	begun := time.Now()
	if f.planFile == "" && f.none(args) {
		return usage("%s needs a model: a type (bert), a checkpoint (bert-base-uncased), a folder, or a selector such as --key", command)
	}
	if err := f.check(); err != nil {
		return err
	}
	if a.asJSON && f.jsonl {
		return usage("--json prints one object at the end, --jsonl one line per result: choose one")
	}
	if err := writable(f.junit); err != nil {
		return err
	}
	s, plan, err := a.prepare(ctx, f, args, timing)
	if err != nil {
		return err
	}
	defer s.Close()
	bar := report.NewProgress(a.stderr, a.terminal, a.environ())
	printer, done := a.printer(f, bar.Above(a.stdout))
	rep, err := a.send(ctx, s, &f.fleet, &f.hubFlags, plan, command, progress.All(bar, report.Listen(printer)))
	bar.Close()
	if err != nil && len(rep.Results) == 0 {
		return err // nothing was done: there is nothing to sum up
	}
	summary := report.Summary{Run: rep.Run, Host: rep.Host, Elapsed: time.Since(begun), Stopped: ctx.Err() != nil}
	err = errors.Join(err, printer.Done(summary), done(), writeScripts(f.repro, rep.Results))
	if err != nil {
		return err
	}
	return status(rep.Results, f.Strict || plan.Strict)
}

// writable says before a run what could only be found after it: that a file
// cannot be written where it was asked for.
func writable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage("cannot write %s: its folder does not exist", path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usage("cannot write %s: it is a folder", path)
	}
	return nil
}

// printer is what the flags ask for; done writes what goes to files.
func (a *app) printer(f *carryFlags, stdout io.Writer) (p report.Results, done func() error) {
	switch {
	case f.jsonl:
		p = report.JSONLines(stdout)
	case a.asJSON:
		p = report.JSONResults(a.stdout)
	default:
		p = report.TextResults(report.Terminal(stdout, a.environ()))
	}
	if f.junit == "" {
		return p, func() error { return nil }
	}
	var b bytes.Buffer
	return report.Both(p, report.JUnit(&b)), func() error { return os.WriteFile(f.junit, b.Bytes(), 0o644) }
}
