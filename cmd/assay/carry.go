package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/fleet/sweep"
	"assay/internal/hub"
	"assay/internal/plan"
	"assay/internal/progress"
	"assay/internal/report"
	"assay/internal/session"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// carryFlags are shared by the commands that run cells: what is asked for, and
// what runs it.
type carryFlags struct {
	plan.Request
	sessionOptions
	planFile, junit string
	repro           string // folder for the scripts of broken laws
	jsonl           bool
	fleet           fleetCarry
	flags           *pflag.FlagSet
}

func (f *carryFlags) add(c *cobra.Command, target string) {
	addSelectors(c, &f.Selector)
	f.hubFlags.add(c)
	fs := c.Flags()
	fs.StringSliceVar(&f.Targets, "platform", []string{target}, "auto, all, or targets: platform[:device][/engine][@browser]")
	fs.StringVar(&f.Size, "size", "", "tiny or full (default: tiny for a type, full for a checkpoint)")
	fs.StringVar(&f.Weights, "weights", "", "random, hub, or a folder (default: hub for a checkpoint that is in the Hugging Face cache, else random)")
	fs.StringSliceVar(&f.DTypes, "dtype", nil, "fp32, fp16, bf16, int8, a16w8, w8, w4 (default: the platform's: fp32, on qnn fp16)")
	fs.IntSliceVar(&f.Batches, "batch", []int{1}, "batch sizes")
	fs.IntSliceVar(&f.Seqs, "seq", nil, "input lengths in tokens (default: the recipe's)")
	fs.IntVar(&f.Image, "image", 0, "image side in pixels (default: the recipe's)")
	fs.IntVar(&f.Seed, "seed", 0, "seed of weights and inputs")
	fs.IntVar(&f.Threads, "threads", 0, "threads of a cell on the CPU (default: the device's setting)")
	fs.StringVar(&f.Mode, "mode", "", "infer, generate, train or pipeline: one forward; 16 tokens after the prompt (language models on torch, openvino, qnn and in browsers); forward, backward and step (torch); from raw text, images or audio to an answer (torch) (default infer)")
	fs.IntSliceVar(&f.Prompts, "prompt", nil, "with --mode generate, lengths of the prompt in tokens (default: the recipe's)")
	fs.IntVar(&f.Tokens, "tokens", 0, "with --mode generate, tokens to add to it (torch and openvino; default 16)")
	fs.IntVar(&f.Procs, "procs", 0, "processes that share a model's work, by torch's own distributed package: with --parallel (default one)")
	addSpecial(fs, &f.Special)
	fs.IntVar(&f.workers, "workers", 0, "functional cells to run in parallel (default: one per core, at most sixteen)")
	fs.DurationVar(&f.timeout, "timeout", 0, "limit for one child (default 10m)")
	fs.BoolVar(&f.Strict, "strict", false, "no fallback, and partial counts as failing")
	fs.BoolVar(&f.NoAdapt, "no-adapt", false, "do not lower batch, input size or dtype when memory runs out")
	fs.StringVar(&f.planFile, "plan", "", "run the cells of this plan file (- is standard input)")
	f.flags = fs
}

// addName adds the flag that names runs.
func (f *carryFlags) addName(c *cobra.Command) {
	c.Flags().StringVar(&f.as, "as", "", "give the run a name, for assay compare; several runs may share one")
}

// none reports whether no model was asked for at all.
func (f *carryFlags) none(args []string) bool { return len(args) == 0 && f.Empty() }

// addOutput adds the flags of the commands that print results as they come.
func (f *carryFlags) addOutput(c *cobra.Command) {
	c.Flags().StringVar(&f.junit, "junit", "", "also write a JUnit XML file")
	c.Flags().BoolVar(&f.jsonl, "jsonl", false, "print each result as a JSON line as it is finished")
}

// settings are the flags that a plan file says itself, cell by cell.
var settings = append([]string{"platform", "dtype", "batch", "size", "weights", "seq", "image", "seed", "threads", "mode", "prompt", "tokens", "procs"}, specialFlags()...)

// check refuses what means nothing, and what a plan file says already.
func (f *carryFlags) check() error {
	if err := f.Check(); err != nil {
		return err
	}
	if f.flags.Changed("as") {
		if err := cell.CheckNewName(f.as); err != nil {
			return usage("--as: %w", err)
		}
	}
	if err := f.fleet.check(); err != nil {
		return err
	}
	if f.workers < 0 {
		return usage("--workers %d: it must be at least 0", f.workers)
	}
	if f.timeout < 0 || f.flags.Changed("timeout") && f.timeout == 0 {
		return usage("--timeout %s: must be greater than 0, such as 30s or 10m", f.timeout)
	}
	if f.planFile == "" {
		return nil
	}
	for _, name := range settings {
		if f.flags.Changed(name) {
			return usage("a plan sets %s for each cell: --%s cannot be used with --plan", name, name)
		}
	}
	return nil
}

// prepare opens a session and makes the plan that the flags and arguments ask
// for. The caller closes the session.
func (a *app) prepare(ctx context.Context, f *carryFlags, args []string, timing cell.Timing) (*session.Session, cell.Plan, error) {
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, cell.Plan{}, err
	}
	s, err := a.openSession(f.session(), cat)
	if err != nil {
		return nil, cell.Plan{}, err
	}
	var m plan.Machine = s
	if f.fleet.at != "" { // what auto and all mean is the fleet's to say
		office, done, err := a.office(f.fleet.at, "plan")
		if err != nil {
			return nil, cell.Plan{}, errors.Join(err, s.Close())
		}
		defer done()
		m = sweep.Machine{Office: office}
	}
	r, p := f.request(args), a.planner(&f.hubFlags, cat, m)
	r.Timing = timing
	var out cell.Plan
	if f.planFile == "" {
		out, err = p.Plan(ctx, r)
	} else {
		out, err = p.PlanFile(ctx, r, f.planFile, a.stdin)
	}
	if err != nil {
		return nil, cell.Plan{}, errors.Join(err, s.Close())
	}
	return s, out, nil
}

// request joins the flags with the models named as arguments.
func (f *carryFlags) request(args []string) plan.Request {
	r := f.Request
	r.Models, r.TimeoutS = plan.Names(args), f.timeout.Seconds()
	return r
}

// planner makes plans for this machine; m may be nil where no targets are asked for.
func (a *app) planner(f *hubFlags, cat *catalog.Catalog, m plan.Machine) *plan.Planner {
	return &plan.Planner{
		Catalog: cat, Machine: m, Allow: f.want(), Say: a.say, Log: a.log, RuledOut: a.ruledOut,
		Hub: func() (plan.Hub, error) { return f.open(a.env, a.say) },
	}
}

// sessionOptions say how cells are run here.
type sessionOptions struct {
	hubFlags
	fresh   bool // the Hub is asked what a revision is today
	workers int
	timeout time.Duration
	opset   int    // of exported graphs; 0 is the exporter's own
	keep    string // a folder for outputs; "" keeps none
	as      string // the name of the run
}

// session are the options with what the request means for them.
func (f *carryFlags) session() sessionOptions {
	o := f.sessionOptions
	o.fresh = f.Weights != "" || f.planFile != ""
	return o
}

// openSession opens the parts that run cells.
func (a *app) openSession(o sessionOptions, cat *catalog.Catalog) (*session.Session, error) {
	m, err := a.maker()
	if err != nil {
		return nil, err
	}
	folders, err := a.home().Folders()
	if err != nil {
		return nil, err
	}
	limit, err := exportsLimit(a.getenv)
	if err != nil {
		return nil, err
	}
	if err := detect.KnownBrowsers(a.getenv(detect.BrowsersVariable)); err != nil {
		return nil, usage("%w", err)
	}
	return session.New(session.Options{
		Environments: session.Chosen{Maker: m, Choice: a.choice()}, Folders: folders, Machine: a.machine, Answers: a.engines,
		Catalog: cat, Workers: o.workers, Limit: o.timeout, ExportsLimit: limit, Keep: o.keep, Name: o.as, Opset: o.opset, Version: version, Past: a.home().Times,
		Weights: session.Weights{
			Hub:  func(say func(string)) (*hub.Hub, error) { return o.open(a.env, say) },
			Want: o.want(), Fresh: o.fresh,
		},
	}), nil
}

// carry runs a plan and journals it. The results that were finished are
// returned also when it was stopped.
func (a *app) carry(ctx context.Context, s *session.Session, plan cell.Plan, command string, on progress.Listener) (cell.Report, error) {
	dir, err := a.home().JournalsToWrite(ctx)
	if err != nil {
		return cell.Report{}, err
	}
	return s.CarryInto(ctx, dir, plan, command, on)
}

// send runs a plan where the flags say: here, or, but for cells that name files of
// this machine, in a fleet.
func (a *app) send(ctx context.Context, s *session.Session, f *fleetCarry, h *hubFlags, plan cell.Plan, command string, on progress.Listener) (cell.Report, error) {
	office, done, err := a.fleetFor(f, command)
	if err != nil {
		return cell.Report{}, err
	}
	defer done()
	if office == nil {
		return a.carry(ctx, s, plan, command, on)
	}
	needs, err := f.needs(h)
	if err != nil {
		return cell.Report{}, err
	}
	dir, err := a.home().JournalsToWrite(ctx)
	if err != nil {
		return cell.Report{}, err
	}
	travels, stays := sweep.Split(plan)
	rep, err := a.carryTravels(ctx, travels, sweep.Options{
		Office: office, Header: s.Header(travels, command), Dir: dir, Command: command, Needs: needs, Priority: f.urgent,
	}, on)
	if err != nil || len(stays.Cells) == 0 {
		return rep, err
	}
	a.say(counted(len(stays.Cells), "cell names", "cells name") + " files of this machine and run here")
	own, err := s.CarryInto(ctx, dir, stays, command, on)
	if len(travels.Cells) == 0 {
		return own, err
	}
	rep.Results = append(rep.Results, own.Results...)
	return rep, err
}

func (a *app) carryTravels(ctx context.Context, plan cell.Plan, o sweep.Options, on progress.Listener) (cell.Report, error) {
	if len(plan.Cells) == 0 {
		return cell.Report{Schema: cell.Schema, Run: o.Header.Run}, nil
	}
	return sweep.Carry(ctx, plan, o, on)
}

// carryShowing is carry with nothing on the terminal but how far it is.
func (a *app) carryShowing(ctx context.Context, s *session.Session, plan cell.Plan, command string) (cell.Report, error) {
	bar := report.NewProgress(a.stderr, a.terminal, a.environ())
	defer bar.Close()
	return a.carry(ctx, s, plan, command, bar)
}

// status is the exit status that results ask for.
func status(results []cell.Result, strict bool) error {
	t := cell.Count(results, strict)
	switch {
	case t.Failing > 0:
		return &statusError{exitFails, nil}
	case t.Broken > 0:
		return &statusError{exitProgram, fmt.Errorf("nothing could be learned about %s: see above", counted(t.Broken, "cell", "cells"))}
	case t.Unsuited != nil:
		return usage("%s has nothing of the requested kind: %s", t.Unsuited.Cell.Model(), t.Unsuited.Failure.Hint)
	case t.Absent > 0:
		return &statusError{exitUnavailable, errors.New(t.Lacking())}
	}
	return nil
}
