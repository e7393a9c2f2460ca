package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/measure"
	"assay/internal/runner/python"
	"assay/internal/versus"
	"assay/internal/wholefile"
)

// `bench aa`, which `make aa` runs, finds out how often the comparison of two sides is
// wrong: a cell against itself, thousands of times, and against itself made slower by a
// known share. Each comparison is one line of a file, so that it may be stopped and
// started at any time; only lines of the same machine, packages and settings are added to.

// against is one kind of comparison: what is planted on side b.
type against struct {
	How    string  `json:"planted"` // "" is nothing
	Change float64 `json:"change"`
}

// plants are what is planted.
var plants = []against{{"sleep", 0.05}, {"sleep", 0.10}, {"work", 0.05}, {"work", 0.10}}

//go:embed plant/sitecustomize.py
var plantFile embed.FS

type aaOptions struct {
	options
	comparisons, tries int
	least              float64 // seconds of a repeat that are timed
	state, rates       string
}

func parseAA(args []string, stderr io.Writer) (aaOptions, error) {
	o := aaOptions{options: options{quick: true}}
	f := flag.NewFlagSet("bench aa", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.comparisons, "n", 5000, "comparisons of a cell with itself")
	f.IntVar(&o.tries, "planted", 200, "tries of each planted slow-down")
	f.Float64Var(&o.least, "least", 0.05, "seconds that each repeat times at least, and ten calls; quick benches time for 0.2 s. What is compared is repeats, so shorter ones only vary more")
	f.StringVar(&o.state, "state", ".cache/aa.jsonl", "what was done is kept in this file, and not done again")
	f.StringVar(&o.rates, "rates", "", "write the rates here when all is done: internal/compare/rates.json")
	f.StringVar(&o.assay, "assay", "bin/assay", "the program that made the environment")
	f.StringVar(&o.python, "python", "", "use this Python instead of the managed environment")
	f.IntVar(&o.threads, "threads", 0, "threads of the loops (default: what detect recommends for this CPU)")
	f.Uint64Var(&o.seed, "seed", 1, "decides the order in which sides alternate")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.comparisons < 0 || o.tries < 0 || o.threads < 0 || o.least <= 0 {
		return o, errors.New("aa takes flags only, and no negative numbers")
	}
	return o, nil
}

// runAA compares until all is done or somebody stops it, and prints both tables.
func runAA(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, err := parseAA(args, stderr)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o.options, stderr)
	if err != nil {
		return err
	}
	state, err := openAATallies(o.state, b.setting(o), b.say)
	if err != nil {
		return errors.Join(err, b.close())
	}
	err = b.compareAll(ctx, o, state)
	rates := state.rates()
	writeTables(stdout, rates)
	err = errors.Join(err, state.close(), b.close())
	if err != nil || o.rates == "" {
		return err
	}
	return writeRates(o.rates, rates)
}

// setting is what all comparisons of a file have in common.
func (b *bench) setting(o aaOptions) aaSetting {
	host := b.session().Host()
	return aaSetting{Schema: 1, Machine: compare.MachineName(host), Key: host.MachineKey(), Torch: b.env.Versions["torch"], Transformers: b.env.Versions["transformers"],
		Type: subjectType, Batch: subjectBatch, Threads: b.loopThreads(), Timing: string(cell.Quick), LeastS: o.least, Repeats: measure.MinRepeats}
}

// compareAll makes the comparisons that are not in the file yet, all kinds alike far.
func (b *bench) compareAll(ctx context.Context, o aaOptions, state *aaTallies) (err error) {
	wanted := map[against]int{{}: o.comparisons}
	for _, p := range plants {
		wanted[p] = o.tries
	}
	plain, err := b.repeater(ctx)
	if err != nil {
		return err
	}
	rule := *plain.job.Timing
	rule.MinS = o.least
	plain.job.Timing = &rule
	sides, began, made := map[against]*repeater{{}: plain}, time.Now(), 0
	defer func() {
		for _, r := range sides {
			err = errors.Join(err, r.close())
		}
	}()
	for {
		kind, left := state.next(wanted)
		if left == 0 {
			return nil
		}
		if sides[kind] == nil {
			if sides[kind], err = b.planted(ctx, plain, kind); err != nil {
				return err
			}
		}
		t, err := b.compareOnce(ctx, plain, sides[kind], kind)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if err := state.add(t); err != nil {
			return err
		}
		made++
		b.say(fmt.Sprintf("   %s: %s, ratio %.3f, repeats vary by %.1f %%; %s", t.against, t.Verdict, t.Ratio, 100*t.Varies, pace(made, left-1, time.Since(began))))
	}
}

// pace is how fast comparisons are made, and how long the rest will take at that.
func pace(made, left int, took time.Duration) string {
	perHour := float64(made) / took.Hours()
	return fmt.Sprintf("%.0f an hour, %d left: %s", perHour, left, time.Duration(float64(left)/perHour*float64(time.Hour)).Round(time.Minute))
}

func (k against) String() string {
	if k.How == "" {
		return "against itself"
	}
	return fmt.Sprintf("%+.0f %% by %s", 100*k.Change, k.How)
}

// planted starts a zygote whose timed calls are slower.
func (b *bench) planted(ctx context.Context, plain *repeater, kind against) (*repeater, error) {
	text, err := plantFile.ReadFile("plant/sitecustomize.py")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.tmp, "plant")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "sitecustomize.py"), text, 0o600)); err != nil {
		return nil, err
	}
	env := slices.Clone(b.env.Environ(ctx))
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PYTHONPATH="); ok {
			env[i] = "PYTHONPATH=" + dir + string(filepath.ListSeparator) + path
		}
	}
	env = append(env, fmt.Sprintf("ASSAY_BENCH_PLANT=%s %g", kind.How, kind.Change))
	r, err := python.Runner{Python: b.env.Python, Env: env}.StartRestarting(ctx)
	if err != nil {
		return nil, err
	}
	return &repeater{runner: r, job: plain.job, release: func() {}}, nil // plain holds the silence
}

// compareOnce is one comparison, in both stages, as `bench --ab` makes it.
func (b *bench) compareOnce(ctx context.Context, x, y *repeater, kind against) (aaTally, error) {
	var trials [2]*aaTrial
	arm := func(side int, r *repeater) versus.Arm {
		return func(_ context.Context, c cell.Cell) (versus.Trial, error) {
			trials[side] = &aaTrial{of: r, cell: c}
			return trials[side], nil
		}
	}
	c := x.job.Cell
	r, err := versus.Run(ctx, arm(0, x), arm(1, y), []versus.Pair{{A: c, B: c}},
		versus.Options{Order: b.order, Record: func(cell.Result) error { return nil }, Note: func(string) {}, Now: time.Now().UTC()})
	if err != nil {
		return aaTally{}, err
	}
	if len(r.Speed) != 1 {
		return aaTally{}, fmt.Errorf("one pair gave %d comparisons", len(r.Speed))
	}
	s := r.Speed[0]
	t := aaTally{against: kind, At: time.Now().UTC().Truncate(time.Second), Verdict: s.Verdict, Ratio: s.Ratio, Finds: s.Finds, Repeats: trials[0].Done()}
	if cv := measure.Summarise(trials[0].Medians(0)).CVBetween; cv != nil {
		t.Varies = *cv
	}
	return t, nil
}

// aaTrial is a trial whose repeats are the bench's own.
type aaTrial struct {
	of      *repeater
	cell    cell.Cell
	medians [][]float64
}

// The methods of versus.Trial.
func (t *aaTrial) Open() bool   { return true }
func (t *aaTrial) Repeats() int { return measure.MinRepeats }
func (t *aaTrial) Done() int    { return len(t.medians) }

func (t *aaTrial) Repeat(ctx context.Context) error {
	one, err := t.of.once(ctx)
	if err == nil {
		t.medians = append(t.medians, []float64{measure.Median(one.SamplesMS)})
	}
	return err
}

func (t *aaTrial) Medians(from int) [][]float64 { return t.medians[from:] }

func (t *aaTrial) Result(from int, side string) cell.Result {
	return cell.Result{Cell: t.cell, Side: side, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick,
		Latency: &cell.Latency{SamplesMS: t.medians[from:], Repeats: len(t.medians) - from, Stable: true}}
}

func writeRates(path string, r compare.Rates) error {
	text, err := marshalRates(r)
	if err != nil {
		return err
	}
	return wholefile.Write(path, text, wholefile.Options{Mode: 0o644})
}
