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

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/lab"
	"assay/internal/measure"
	"assay/internal/runner/python"
)

// `bench aa`, which `make aa` runs, finds out how often the comparison of two sides is
// wrong: a cell against itself, thousands of times, and against itself made slower by a
// known share. Each comparison is one line of a file, so that it may be stopped and
// started at any time; only lines of the same machine, packages and settings are added to.
//
// Comparisons are independent of each other, so that several are made at a time, each in a
// lane (aalanes.go) that has processors of its own. Lanes disturb each other a little, as
// other programs do; both sides of a comparison are in the same lane.

// against is one kind of comparison: what is planted on side b.
type against struct {
	How    string  `json:"planted"` // "" is nothing
	Change float64 `json:"change"`
}

// plants are what is planted.
var plants = []against{{"sleep", 0.05}, {"sleep", 0.10}, {"work", 0.05}, {"work", 0.10}}

// What the bars are of: comparisons of a cell with itself, and tries of each slow-down.
const (
	barComparisons = 5000
	barTries       = 200
)

//go:embed plant/sitecustomize.py
var plantFile embed.FS

type aaOptions struct {
	options
	comparisons, tries int
	lanes              int
	noisy              bool
	least              float64 // seconds of a repeat that are timed
	state, rates       string
	merge              []string
}

func parseAA(args []string, stderr io.Writer) (aaOptions, error) {
	o := aaOptions{options: options{quick: true}}
	f := flag.NewFlagSet("bench aa", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.comparisons, "n", barComparisons, "comparisons of a cell with itself")
	f.IntVar(&o.tries, "planted", barTries, "tries of each planted slow-down; with -n 0 -planted 0 nothing is run, and what the file holds is printed")
	f.IntVar(&o.lanes, "lanes", 0, "comparisons at a time, each held to processors of its own (default: one for each processor, or as many as -threads leaves room for)")
	f.BoolVar(&o.noisy, "noisy", false, "do not ask other runs of Assay for silence: they go on meanwhile, and are part of the noise")
	f.Float64Var(&o.least, "least", 0.05, "seconds that each repeat times at least, and ten calls; quick benches time for 0.2 s. What is compared is repeats, so shorter ones only vary more")
	f.StringVar(&o.state, "state", ".cache/aa.jsonl", "what was done is kept in this file, and not done again")
	merge := f.String("merge", "", "first add what these files hold, comma-separated: the -state of other runs on this machine")
	f.StringVar(&o.rates, "rates", "", "write the rates here at the end, whether or not all is done: internal/compare/rates.json")
	f.StringVar(&o.assay, "assay", "bin/assay", "the program that made the environment")
	f.StringVar(&o.python, "python", "", "use this Python instead of the managed environment")
	f.IntVar(&o.threads, "threads", 1, "threads of the loops")
	f.Uint64Var(&o.seed, "seed", 1, "decides the order in which sides alternate")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *merge != "" {
		o.merge = strings.Split(*merge, ",")
	}
	if f.NArg() > 0 || o.comparisons < 0 || o.tries < 0 || o.lanes < 0 || o.threads < 1 || o.least <= 0 {
		return o, errors.New("aa takes flags only, no negative numbers, and at least one thread")
	}
	return o, nil
}

// runAA compares until all is done or somebody stops it, prints both tables and writes the rates.
func runAA(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, err := parseAA(args, stderr)
	if err != nil {
		return err
	}
	may, err := lab.Processors()
	if err != nil {
		return err
	}
	lanes, err := lanesOf(o.lanes, o.threads, may)
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
	if err := state.merge(o.merge, b.say); err != nil {
		return errors.Join(err, state.close(), b.close())
	}
	err = b.compareAll(ctx, o, lanes, state)
	rates := state.rates()
	writeTables(stdout, rates)
	if o.rates != "" {
		err = errors.Join(err, writeRates(o.rates, rates))
	}
	return errors.Join(err, state.close(), b.close())
}

// setting is what all comparisons of a file have in common.
func (b *bench) setting(o aaOptions) aaSetting {
	host := b.session().Host()
	return aaSetting{Schema: 2, Machine: compare.MachineName(host), Key: host.MachineKey(), Torch: b.env.Versions["torch"], Transformers: b.env.Versions["transformers"],
		Type: subjectType, Batch: subjectBatch, Threads: o.threads, Timing: string(cell.Quick), LeastS: o.least, Repeats: measure.MinRepeats}
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
