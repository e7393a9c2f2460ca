package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/hub"
	"assay/internal/input"
	"assay/internal/journal"
	"assay/internal/progress"
	"assay/internal/session"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// carryFlags are shared by the commands that run cells.
type carryFlags struct {
	selectors
	hubFlags
	platforms        []string
	size, weights    string
	dtypes           []string
	batches, seqs    []int
	image, seed      int
	threads, workers int
	timeout          time.Duration
	strict, noAdapt  bool
	mode             string
	special          cell.Special
	plan, junit      string
	jsonl            bool
	flags            *pflag.FlagSet
	repeats          int
	opset            int    // of exported graphs; 0 is the exporter's own
	keep             string // a folder for outputs; "" keeps none
}

func (f *carryFlags) add(c *cobra.Command, platform string) {
	f.selectors.add(c)
	f.hubFlags.add(c)
	fs := c.Flags()
	fs.StringSliceVar(&f.platforms, "platform", []string{platform}, "auto, all, or targets: platform[:device][/engine][@browser]")
	fs.StringVar(&f.size, "size", "", "tiny or full (default: tiny for a type, full for a checkpoint)")
	fs.StringVar(&f.weights, "weights", "", "random, hub, or a folder (default: hub for a checkpoint that is in the Hugging Face cache, else random)")
	fs.StringSliceVar(&f.dtypes, "dtype", nil, "fp32, fp16, bf16, int8, a16w8, w8, w4 (default: the platform's: fp32, on qnn fp16)")
	fs.IntSliceVar(&f.batches, "batch", []int{1}, "batch sizes")
	fs.IntSliceVar(&f.seqs, "seq", nil, "input lengths in tokens (default: the recipe's)")
	fs.IntVar(&f.image, "image", 0, "image side in pixels (default: the recipe's)")
	fs.IntVar(&f.seed, "seed", 0, "seed of weights and inputs")
	fs.IntVar(&f.threads, "threads", 0, "threads of a cell on the CPU (default: the device's setting)")
	fs.StringVar(&f.mode, "mode", "", "infer or generate: one forward, or 16 tokens after the prompt (language models on torch, openvino, qnn and in browsers; default infer)")
	addSpecial(fs, &f.special)
	fs.IntVar(&f.workers, "workers", 0, "functional cells side by side (default: one a core, at most sixteen)")
	fs.DurationVar(&f.timeout, "timeout", 0, "limit for one child (default 10m)")
	fs.BoolVar(&f.strict, "strict", false, "no fallback, and partial counts as failing")
	fs.BoolVar(&f.noAdapt, "no-adapt", false, "do not lower batch, input size or dtype when memory runs out")
	fs.StringVar(&f.plan, "plan", "", "carry out the cells of this plan file (- is standard input)")
	f.flags = fs
}

// addOutput adds the flags of the commands that print results as they come.
func (f *carryFlags) addOutput(c *cobra.Command) {
	c.Flags().StringVar(&f.junit, "junit", "", "also write a JUnit XML file")
	c.Flags().BoolVar(&f.jsonl, "jsonl", false, "print each result as a JSON line as it is finished")
}

// settings are the flags that a plan file says itself, cell by cell.
var settings = append([]string{"platform", "dtype", "batch", "size", "weights", "seq", "image", "seed", "threads", "mode"}, specialFlags()...)

// check refuses numbers that mean nothing, and what a plan file says already.
func (f *carryFlags) check() error {
	for _, n := range []struct {
		name   string
		values []int
		least  int
	}{{"batch", f.batches, 1}, {"seq", f.seqs, 1}, {"image", []int{f.image}, 0}, {"seed", []int{f.seed}, 0},
		{"threads", []int{f.threads}, 0}, {"workers", []int{f.workers}, 0}, {"repeats", []int{f.repeats}, 0}} {
		for _, v := range n.values {
			if v < n.least {
				return usage("--%s %d: it must be at least %d", n.name, v, n.least)
			}
		}
	}
	if f.timeout < 0 || f.flags.Changed("timeout") && f.timeout == 0 {
		return usage("--timeout %s: it must be longer than nothing, such as 30s or 10m", f.timeout)
	}
	if f.plan == "" {
		return nil
	}
	for _, name := range settings {
		if f.flags.Changed(name) {
			return usage("--plan says %s for each cell itself: --%s does not go with it", name, name)
		}
	}
	return nil
}

// prepare opens a session and makes the plan that the flags and arguments ask
// for. The caller closes the session. A plan file that asks to be timed is,
// whatever the command; one that does not ask is timed as the command says.
func (a *app) prepare(ctx context.Context, f *carryFlags, args []string, timing cell.Timing) (*session.Session, cell.Plan, error) {
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, cell.Plan{}, err
	}
	s, err := a.session(f, cat)
	if err != nil {
		return nil, cell.Plan{}, err
	}
	plan, err := a.plan(ctx, f, args, cat, s)
	if err != nil {
		return nil, cell.Plan{}, errors.Join(err, s.Close())
	}
	if f.plan == "" || plan.Timing == cell.Functional {
		plan.Timing = timing
	}
	return s, plan, nil
}

// session opens the parts that run cells.
func (a *app) session(f *carryFlags, cat *catalog.Catalog) (*session.Session, error) {
	m, err := a.maker()
	if err != nil {
		return nil, err
	}
	folders, err := a.folders()
	if err != nil {
		return nil, err
	}
	limit, err := a.exportsLimit()
	if err != nil {
		return nil, err
	}
	if err := detect.KnownBrowsers(a.getenv(detect.BrowsersVariable)); err != nil {
		return nil, usage("%w", err)
	}
	return session.New(session.Options{
		Environments: session.Chosen{Maker: m, Choice: a.choice()}, Folders: folders, Machine: a.machine, Answers: a.engines,
		Catalog: cat, Workers: f.workers, Limit: f.timeout, ExportsLimit: limit, Keep: f.keep, Opset: f.opset, Version: version, Past: a.past,
		Weights: session.Weights{
			Hub:  func(say func(string)) (*hub.Hub, error) { return a.open(&f.hubFlags, say) },
			Want: f.want(), Fresh: f.weights != "" || f.plan != "",
		},
	}), nil
}

// readPlan reads a plan file, or standard input.
func (a *app) readPlan(ctx context.Context, path string) (cell.Plan, error) {
	b, err := input.Read(ctx, path, a.stdin, cell.MaxPlan)
	if err != nil {
		return cell.Plan{}, usage("cannot read the plan: %w", err)
	}
	p, err := cell.ReadPlan(bytes.NewReader(b))
	return p, planUsage(path, err)
}

func planUsage(path string, err error) error {
	if err == nil {
		return nil
	}
	return usage("%s: %w", path, err)
}

// carry carries a plan out and journals it. The results that were finished are
// returned also when it was stopped.
func (a *app) carry(ctx context.Context, s *session.Session, plan cell.Plan, command string, on progress.Listener) (cell.Report, error) {
	dir, err := a.journalsToWrite(ctx)
	if err != nil {
		return cell.Report{}, err
	}
	// A machine that cannot run the plan leaves no empty journal behind.
	if err := s.Ready(ctx, plan); err != nil {
		return cell.Report{}, err
	}
	h := s.Header(plan, command)
	report := cell.Report{Schema: cell.Schema, Run: h.Run, Host: h.Host}
	j, err := journal.Create(dir, h)
	if err != nil {
		return report, err
	}
	report.Results, err = s.Record(ctx, plan, j, on)
	return report, err
}

// status is the exit status that results ask for.
func status(results []cell.Result, strict bool) error {
	failing, absent, broken := session.Tally(results, strict)
	odd := slices.IndexFunc(results, func(r cell.Result) bool { return !r.Suits() })
	suit := slices.ContainsFunc(results, cell.Result.Suits)
	switch {
	case failing > 0:
		return &statusError{exitFails, nil}
	case broken > 0:
		return &statusError{exitProgram, fmt.Errorf("nothing could be learnt of %s: see above", counted(broken, "cell", "cells"))}
	case odd >= 0 && (strict || !suit):
		return usage("%s has nothing of the kind that was asked for: %s", results[odd].Cell.Model(), results[odd].Failure.Hint)
	case absent > 0:
		return &statusError{exitUnavailable, lacking(results, absent)}
	}
	return nil
}

// lacking says why asked cells were not run: for want of a device, or because
// Assay cannot do there what was asked.
func lacking(results []cell.Result, absent int) error {
	beyond := 0
	for _, r := range results {
		if r.Verdict == cell.Unavailable && r.Failure != nil && r.Failure.Class == cell.BeyondAssay {
			beyond++
		}
	}
	var parts []string
	if n := absent - beyond; n > 0 {
		parts = append(parts, counted(n, "asked cell has", "asked cells have")+" no device here")
	}
	if beyond > 0 {
		parts = append(parts, counted(beyond, "asked cell is", "asked cells are")+" beyond what Assay can do there: see above")
	}
	return errors.New(strings.Join(parts, "; "))
}
