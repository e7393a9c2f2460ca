package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"assay/internal/detect"
	"assay/internal/measure"
	"assay/internal/platform"
	"assay/internal/session"
	"assay/internal/tune"

	"github.com/spf13/cobra"
)

// tuneFlags say what is asked of which browsers.
type tuneFlags struct {
	web, all            bool
	warm, load, kernels bool
	platforms           []string
	repeats             int
}

// The models that are asked about when nobody names any: the smallest of the
// key ones, and one that falls into two parts.
const (
	warmModel = "bert"
	loadModel = "clip"
)

func tuneCommand(a *app) *cobra.Command {
	f := &tuneFlags{}
	c := &cobra.Command{
		Use:   "tune --web [MODEL…]",
		Short: "What makes models faster in a browser? Compare ways of doing things, measured in turn",
		Long: `Tune asks a real browser which of two ways is faster, in fresh pages, both ways in turn, and answers with the ratio
of the medians and its interval, or with "no difference". The questions are
  kernels        workgroup sizes of Assay's own WGSL kernels (stft, mel, 4-bit matmul), whose best sizes are kept per
                 browser and adapter and used from then on, and the kernels against stock ones; needs webgpu
  warm           the first inference after loading, against one for which a blank run has compiled the shaders
  parallel-load  a model's parts loaded by one worker, one after the other, against a worker for each
Kernels are asked about when no model is named, the other two when one is; --all asks everything. A kernel is compared
with a reference before it is timed, a model is tested before.
` + exitHelp,
		Example: `  assay tune --web
  assay tune --web --warm bert --platform webnn --repeats 2
  assay tune --web --parallel-load clip --platform webnn --repeats 2
  assay tune --web --all --platform webgpu,webnn`,
		RunE: func(c *cobra.Command, args []string) error { return a.tune(c.Context(), f, args) },
	}
	fs := c.Flags()
	fs.BoolVar(&f.web, "web", false, "tune what runs in browsers")
	fs.BoolVar(&f.all, "all", false, "ask every question")
	fs.BoolVar(&f.warm, "warm", false, "ask whether warming helps the first inference")
	fs.BoolVar(&f.load, "parallel-load", false, "ask whether loading parts at the same time helps")
	fs.BoolVar(&f.kernels, "kernels", false, "ask about Assay's own kernels")
	fs.StringSliceVar(&f.platforms, "platform", []string{"webgpu"}, "web targets: webgpu, webnn, cpu/wasm, each with @browser if need be")
	fs.IntVar(&f.repeats, "repeats", measure.MinRepeats, "how often both ways are measured: with fewer than 6 there is no interval")
	return c
}

// settle fills in what is asked about when the flags do not say.
func (f *tuneFlags) settle(models []string) error {
	switch {
	case !f.web:
		return usage("tune works on what runs in browsers: give --web")
	case f.repeats < 1:
		return usage("--repeats %d: it must be at least 1", f.repeats)
	case f.all:
		f.warm, f.load, f.kernels = true, true, true
	case f.warm || f.load || f.kernels:
	case len(models) > 0:
		f.warm, f.load = true, true
	default:
		f.kernels = true
	}
	return nil
}

// targets are the asked ones, all in browsers.
func (f *tuneFlags) targets() ([]platform.Target, error) {
	var out []platform.Target
	for _, name := range f.platforms {
		t, err := platform.ParseTarget(name)
		if err != nil {
			return nil, usage("%w", err)
		}
		if t = t.Normal(); !t.Engine.Traits().Pages {
			return nil, usage("%s does not run in a browser: the web targets are webgpu, webnn and cpu/wasm", name)
		}
		if err := detect.Known(t); err != nil {
			return nil, usage("%w", err)
		}
		out = append(out, t)
	}
	return out, nil
}

func (a *app) tune(ctx context.Context, f *tuneFlags, models []string) error {
	if err := f.settle(models); err != nil {
		return err
	}
	targets, err := f.targets()
	if err != nil {
		return err
	}
	if !f.warm && !f.load && !slices.ContainsFunc(targets, func(t platform.Target) bool { return t.Platform == platform.WebGPU }) {
		return usage("kernels are a matter of webgpu alone: ask for --platform webgpu, or name a model for --warm or --parallel-load")
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return err
	}
	s, err := a.openSession(sessionOptions{}, cat)
	if err != nil {
		return err
	}
	defer s.Close()
	folder, err := os.MkdirTemp("", "assay-tune-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	work, err := readying{a, s, cat, targets, folder}.ready(ctx, f, models)
	if err != nil {
		return err
	}
	report, err := a.answers(ctx, f, s, targets, work)
	if a.asJSON {
		err = errors.Join(err, a.printJSON(report))
	} else {
		err = errors.Join(err, tune.WriteText(a.stdout, report))
	}
	if err == nil && slices.ContainsFunc(report.Rows, func(r tune.Row) bool { return r.Refused != "" }) {
		err = &statusError{exitFails, nil}
	}
	return err
}

// answers asks everything on every target, alone on the machine. What was answered
// is returned also when it was stopped.
func (a *app) answers(ctx context.Context, f *tuneFlags, s *session.Session, targets []platform.Target, work []modelWork) (tune.Report, error) {
	report := tune.Report{Schema: tune.Schema, Settings: map[string]tune.Setting{}, Rows: []tune.Row{}}
	folders, err := a.folders()
	if err != nil {
		return report, err
	}
	release, err := s.Alone(ctx, a.say)
	if err != nil {
		return report, err
	}
	defer release()
	bench := &tune.Bench{Repeats: f.repeats, Say: a.say, Open: func(ctx context.Context, t platform.Target) (tune.Page, error) { return s.Page(ctx, t) }}
	for _, t := range targets {
		setting, err := bench.Setting(ctx, t)
		if err != nil {
			return report, err
		}
		report.Settings[t.String()] = setting
		rows, err := f.askOn(ctx, bench, t, setting, tune.BookIn(folders.Data), work)
		for _, r := range rows {
			r.Evidence = setting.Evidence
			report.Rows = append(report.Rows, r)
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (f *tuneFlags) askOn(ctx context.Context, bench *tune.Bench, t platform.Target, s tune.Setting, book tune.Book, work []modelWork) ([]tune.Row, error) {
	var rows []tune.Row
	for _, w := range work {
		if w.target == t {
			bench.Say(w.what + " of " + w.model + " on " + t.String())
			rows = append(rows, w.ask(ctx, bench))
		}
	}
	if !f.kernels || t.Platform != platform.WebGPU {
		return rows, ctx.Err()
	}
	found, err := bench.Kernels(ctx, t, s, book)
	return append(rows, found...), err
}
