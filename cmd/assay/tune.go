package main

import (
	"context"
	"errors"
	"io"
	"os"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/platform"
	"assay/internal/session"
	"assay/internal/tune"
	"assay/internal/tune/questions"

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
	questions, done, err := a.makeQuestions(ctx, f, s, cat, targets, models)
	defer done()
	if err != nil {
		return err
	}
	report, err := s.Tune(ctx, targets, questions, f.Kernels, f.repeats, a.say)
	err = errors.Join(err, a.print(report, func(w io.Writer) error { return tune.WriteText(w, report) }))
	if err == nil && report.Refused() {
		err = &statusError{exitFails, nil}
	}
	return err
}

// makeQuestions makes those about models, whose graphs are in a folder until done.
func (a *app) makeQuestions(ctx context.Context, f *tuneFlags, s *session.Session, cat *catalog.Catalog, targets []platform.Target, models []string) (all []tune.Question, done func(), err error) {
	done = func() {}
	cache, err := a.home().Exports()
	if err != nil {
		return nil, done, err
	}
	folder, err := os.MkdirTemp("", "assay-tune-")
	if err != nil {
		return nil, done, err
	}
	done = func() { os.RemoveAll(folder) }
	all, err = questions.Maker{
		Planner: a.planner(&hubFlags{}, cat, s), Targets: targets, Layout: tune.Layout{Cache: cache, Folder: folder},
		Run: func(ctx context.Context, plan cell.Plan) ([]cell.Result, error) {
			rep, err := a.carryShowing(ctx, s, plan, "tune")
			return rep.Results, err
		},
		Parts: func(ctx context.Context, c cell.Cell) (session.Parts, error) { return s.Parts(ctx, c, a.say) },
	}.Make(ctx, f.Questions, models)
	return all, done, err
}
