package main

import (
	"context"
	"errors"
	"os"

	"assay/internal/measure"
	"assay/internal/platform"
	"assay/internal/session"
	"assay/internal/tune"

	"github.com/spf13/cobra"
)

// tuneFlags say what is asked of which browsers.
type tuneFlags struct {
	tune.Questions
	web, all  bool
	platforms []string
	repeats   int
}

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
	fs.BoolVar(&f.Warm, "warm", false, "ask whether warming helps the first inference")
	fs.BoolVar(&f.Load, "parallel-load", false, "ask whether loading parts at the same time helps")
	fs.BoolVar(&f.Kernels, "kernels", false, "ask about Assay's own kernels")
	fs.StringSliceVar(&f.platforms, "platform", []string{"webgpu"}, "web targets: webgpu, webnn, cpu/wasm, each with @browser if need be")
	fs.IntVar(&f.repeats, "repeats", measure.MinRepeats, "how often both ways are measured: with fewer than 6 there is no interval")
	return c
}

// check settles what is asked, and of which targets.
func (f *tuneFlags) check(models []string) ([]platform.Target, error) {
	switch {
	case !f.web:
		return nil, usage("tune works on what runs in browsers: give --web")
	case f.repeats < 1:
		return nil, usage("--repeats %d: it must be at least 1", f.repeats)
	case f.all:
		f.Questions = tune.Questions{Warm: true, Load: true, Kernels: true}
	}
	f.Questions = f.Settle(models)
	targets, err := f.Targets(f.platforms)
	if err != nil {
		return nil, usage("%w", err)
	}
	return targets, nil
}

func (a *app) tune(ctx context.Context, f *tuneFlags, models []string) error {
	targets, err := f.check(models)
	if err != nil {
		return err
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
	cache, err := a.exports()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "assay-tune-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	questions, err := questioner{a, s, a.planner(&hubFlags{}, cat, s), targets, tune.Layout{Cache: cache, Folder: folder}}.makeQuestions(ctx, f.Questions, models)
	if err != nil {
		return err
	}
	report, err := a.askBrowsersAlone(ctx, f, s, targets, questions)
	if a.asJSON {
		err = errors.Join(err, a.printJSON(report))
	} else {
		err = errors.Join(err, tune.WriteText(a.stdout, report))
	}
	if err == nil && report.Refused() {
		err = &statusError{exitFails, nil}
	}
	return err
}

// askBrowsersAlone asks everything while nothing else is timed on the machine.
func (a *app) askBrowsersAlone(ctx context.Context, f *tuneFlags, s *session.Session, targets []platform.Target, questions []tune.Question) (tune.Report, error) {
	folders, err := a.folders()
	if err != nil {
		return tune.NewReport(), err
	}
	release, err := s.Alone(ctx, a.say)
	if err != nil {
		return tune.NewReport(), err
	}
	defer release()
	var book *tune.Book
	if f.Kernels {
		b := tune.BookIn(folders.Data)
		book = &b
	}
	bench := &tune.Bench{Repeats: f.repeats, Say: a.say, Open: func(ctx context.Context, t platform.Target) (tune.Page, error) { return s.Page(ctx, t) }}
	return bench.AskAll(ctx, targets, questions, book)
}
