// Command bench measures Assay itself: what it costs, whether it disturbs what
// it measures, and whether its answers can be trusted. It is what `make bench`
// runs; docs/benchmarks.md holds its tables.
//
// A section measures one thing and gives rows: what was measured, the value,
// the bar it must reach, and whether it does. The sections are a table (see
// sections), each in its own file:
//
//	overhead.go      a cell's cost beyond the model's own work
//	sweep.go         thousands of no-op cells to queryable rows
//	fleet.go         the same through a coordinator and eight workers
//	harness.go       the harness's CPU time while a model is timed
//	bare.go          Assay's timed loop against the same loop in plain Python
//	openvino.go      full models on OpenVINO against its own benchmark program
//	same.go          a cell against itself: how often is a difference seen?
//	aa.go            the same with both stages, thousands of times, in lanes: `make aa`
//	placement.go     how well a fleet would place tasks: `go run ./bench placement`
//	fleetload.go     a coordinator under load: `go run ./bench load`
//	serve.go         assay serve under load, and viewers of a run: `go run ./bench serve`
//	ranks.go         --quick against the full mode: the order of the key models
//	cold.go          one cold bench against the bare imports; further cells
//	commands.go      commands that must be instant
//	derived.go       derived verdicts against measured ones, scored (score.go)
//	gpu.go           a worker's results from a GPU machine, as a table
//	baregpu.go       the loops of bare on a GPU of this machine
//	gpuruns.go       how long a worker's whole runs took there
//
// Nothing here is a test. Times differ between machines and minutes, so what
// is compared is measured in one run with both sides interleaved, in an order
// drawn from a stored seed, and a missed bar is a row of the table, not a
// failure of the program. Only what could not be measured at all makes it end
// with status 1.
//
// Where a section is about the program it runs the program; where it is about
// a part it uses that part as the program does: the session for whole cells,
// the runner for single repeats.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"assay/internal/session"
)

func main() {
	ctx, stop := session.Interruptible(context.Background())
	carry, args := run, os.Args[1:]
	if len(args) > 0 && others[args[0]] != nil {
		carry, args = others[args[0]], args[1:]
	}
	err := carry(ctx, os.Stdout, os.Stderr, args)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// others measure one thing and are run by name: they take hours, or need no environment.
var others = map[string]func(ctx context.Context, stdout, stderr io.Writer, args []string) error{
	"aa": runAA, "placement": runPlacement, "load": runFleet, "serve": runServe,
}

// options are what the command line says.
type options struct {
	only    []string
	quick   bool
	format  string // text, json or md
	assay   string
	python  string
	gpu     string
	truth   string
	threads int
	seed    uint64
	// alternations of bare-gpu; 0 is the usual number
	alternations int
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{format: "text"}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("only", "", "only these sections, comma-separated: "+strings.Join(names(), ", "))
	asJSON := f.Bool("json", false, "print JSON")
	md := f.Bool("md", false, "print Markdown, for docs/benchmarks.md")
	f.BoolVar(&o.quick, "quick", false, "few repetitions: shows that everything can be measured; the numbers mean little")
	f.StringVar(&o.assay, "assay", "bin/assay", "the program to measure")
	f.StringVar(&o.python, "python", "", "use this Python instead of the managed environment")
	f.StringVar(&o.gpu, "gpu", "", "a worker's journals from a GPU machine, and what bench --only bare-gpu --json wrote there, comma-separated, for the section gpu")
	f.StringVar(&o.truth, "truth", "", "journals of tiny models, comma-separated, for the section derived (default: measured now)")
	f.IntVar(&o.threads, "threads", 0, "threads of the loops in bare and a-against-a (default: what detect recommends for this CPU)")
	f.Uint64Var(&o.seed, "seed", 1, "decides the order in which sides alternate")
	f.IntVar(&o.alternations, "turns", 0, "alternations of bare-gpu (default 10): fewer than six give no interval")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: bench takes flags only", f.Arg(0))
	case o.threads < 0:
		return o, errors.New("--threads must not be negative")
	case o.alternations < 0:
		return o, errors.New("--turns must not be negative")
	case *asJSON && *md:
		return o, errors.New("--json and --md cannot be used together")
	case *asJSON:
		o.format = "json"
	case *md:
		o.format = "md"
	}
	var err error
	o.only, err = chosen(*only, o.gpu)
	return o, err
}

// run measures what the arguments ask for and prints it.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o, stderr)
	if err != nil {
		return err
	}
	doc, failed := b.measure(ctx)
	return errors.Join(printers[o.format](stdout, doc), failed, b.close())
}
