package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/confine"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/exports"
	"assay/internal/hub"
	"assay/internal/journal"
	planning "assay/internal/plan"
	"assay/internal/progress"
	"assay/internal/session"
)

// version is set when the program is built (-ldflags -X).
var version = "dev"

const help = `assay-worker runs cells on a machine that has only Python: a plan, or what a coordinator sends.

  assay-worker run --plan FILE --out FILE [--resume] [--python PATH] [--workers N] [--timeout 10m] [--no-setup]
                   [--offline] [--allow-pickle] [--trust-remote-code] [--env NAME] [--policy FILE]
      run the plan's cells and write the results; import them with "assay import FILE".
      With --resume go on with a FILE that was cut short: what it has is not run again. A policy
      limits memory, time and folders of every task, and what may be loaded (docs/confining.md)
  assay-worker join URL|TICKET|- [--name NAME] [--label NAME=VALUE] [--workers N] [--python PATH] [--timeout 10m] [--no-setup]
                    [--allow-hub] [--allow-pickle] [--trust-remote-code] [--env NAME] [--ca FILE] [--policy FILE] [--noop]
                    [--web-lab HOST:PORT [--cert FILE --cert-key FILE]]
      work for a coordinator until stopped: run the cells that it sends and this machine can run, and nothing else.
      A TICKET is a file of "assay fleet key add", or with - comes by standard input, at whose end the worker stops. Weights are loaded only with --allow-hub. With --noop only no-ops
      are run, to try a fleet out. With --web-lab it prints the address of a page: the browsers that open it, phones' too,
      are what the worker has, as long as they show the page (docs/web-lab.md)
  assay-worker detect [--python PATH] [--capture DIR]
      print what this machine has as JSON, or write a fixture of it
  assay-worker version

A plan is {"timing":"test|quick|full","cells":[{"type":"bert","platform":"cuda","size":"full","dtype":"fp16"}]};
a platform is a target, as everywhere: cuda:1, cpu/onnxruntime, qnn:sm8650, webgpu@firefox.
Without --python the managed environment is installed when it is first needed.
Exit status: 0 done; 1 the program failed; 2 wrong usage; 3 some cell fails (or is partial, in a strict plan);
4 requested hardware is not present, or Assay cannot run the model on it (strict plan); 130 interrupted.
`

// usageError is wrong usage: status 2.
type usageError struct{ error }

var (
	errFails  = errors.New("some cell fails")
	errBroke  = errors.New("the machine broke before some cell could show anything")
	errAbsent = errors.New("some cell has no device here")
)

// run carries one command line out and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := session.Interruptible(ctx)
	defer stop()
	err := command(ctx, args, stdout, stderr)
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(stdout, help)
		return 0
	case errors.Is(err, errFails):
		return 3
	case errors.Is(err, errAbsent):
		return 4
	case errors.Is(context.Cause(ctx), session.ErrInterrupted):
		fmt.Fprintln(stderr, "assay-worker:", session.ErrInterrupted)
		return 130
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "assay-worker: %v (see \"assay-worker --help\")\n", err)
		return 2
	}
	fmt.Fprintln(stderr, "assay-worker:", err)
	return 1
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError{errors.New("a command is missing")}
	}
	switch args[0] {
	case "run":
		return runPlan(ctx, args[1:], stderr)
	case confine.Verb:
		return confine.Become(args[1:])
	case "join":
		return join(ctx, args[1:], os.Stdin, stderr)
	case "detect":
		return detectHere(ctx, args[1:], nil, stdout, stderr)
	case "version", "--version":
		_, err := fmt.Fprintln(stdout, "assay-worker", version)
		return err
	case "help", "--help", "-h":
		_, err := io.WriteString(stdout, help)
		return err
	}
	return usageError{fmt.Errorf("unknown command %q", args[0])}
}

// flags are those of run and detect.
type flags struct {
	*flag.FlagSet
	python, plan, out, capture string
	policy                     string
	workers                    int
	timeout                    time.Duration
	noSetup, offline, resume   bool
	pass                       []string // variables for children
	want                       hub.Want
}

func parse(name string, args []string) (*flags, error) {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.StringVar(&f.python, "python", "", "")
	f.StringVar(&f.plan, "plan", "", "")
	f.StringVar(&f.out, "out", "", "")
	f.StringVar(&f.capture, "capture", "", "")
	f.StringVar(&f.policy, "policy", "", "")
	f.IntVar(&f.workers, "workers", 0, "")
	f.DurationVar(&f.timeout, "timeout", 0, "")
	f.BoolVar(&f.noSetup, "no-setup", false, "")
	f.BoolVar(&f.offline, "offline", false, "")
	f.BoolVar(&f.resume, "resume", false, "")
	f.Func("env", "", func(name string) error {
		f.pass = append(f.pass, strings.Split(name, ",")...)
		return nil
	})
	f.BoolVar(&f.want.Pickle, "allow-pickle", false, "")
	f.BoolVar(&f.want.Code, "trust-remote-code", false, "")
	if err := f.Parse(args); err != nil {
		return nil, usageError{err}
	}
	if f.timeout < 0 || f.workers < 0 {
		return nil, usageError{errors.New("--timeout and --workers must not be negative")}
	}
	if f.NArg() > 0 {
		return nil, usageError{fmt.Errorf("unknown argument %q", f.Arg(0))}
	}
	return f, nil
}

// maker makes environments in the user's folders.
func maker(f *flags, stderr io.Writer) (*environment.Maker, environment.Folders, error) {
	folders, err := environment.FindFolders(os.Getenv)
	if err == nil {
		err = folders.Create()
	}
	say := func(s string) { fmt.Fprintln(stderr, s) }
	m := environment.New(folders, os.Environ(), say).Passing(f.pass...)
	for _, name := range m.Unset() {
		say("--env " + name + ": it is not set, so children do not get it")
	}
	return m, folders, err
}

func runPlan(ctx context.Context, args []string, stderr io.Writer) error {
	f, err := parse("run", args)
	if err != nil {
		return err
	}
	if f.plan == "" || f.out == "" {
		return usageError{errors.New("run needs --plan FILE and --out FILE")}
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	plan, err := readPlan(ctx, f.plan, cat)
	if err != nil {
		return usageError{err}
	}
	m, folders, err := maker(f, stderr)
	if err != nil {
		return err
	}
	limit, err := exports.LimitFrom(os.Getenv)
	if err != nil {
		return usageError{err}
	}
	held, err := f.underPolicy(folders, stderr)
	if err != nil {
		return err
	}
	defer held.Close()
	s := session.New(session.Options{
		Environments: session.Chosen{Maker: m, Choice: environment.Choice{Python: f.python, NoSetup: f.noSetup}}, Folders: folders, Confine: held.wrap(),
		Catalog: cat, Workers: f.workers, Limit: f.timeout, ExportsLimit: limit, Version: version,
		Weights: session.Weights{Hub: f.hub, Want: f.want, Fresh: true},
	})
	defer s.Close()
	if err := s.Ready(ctx, plan); err != nil {
		return err
	}
	results, err := record(ctx, s, plan, f, stderr)
	if err != nil {
		return err
	}
	t := cell.Count(results, plan.Strict)
	switch {
	case t.Failing > 0:
		return errFails
	case t.Broken > 0:
		return errBroke
	case t.Absent > 0:
		return errAbsent
	}
	return nil
}

// record runs what the journal lacks of the plan, and returns all that it has then.
func record(ctx context.Context, s *session.Session, plan cell.Plan, f *flags, stderr io.Writer) ([]cell.Result, error) {
	begin := func(path string, h journal.Header) (*journal.Writer, []cell.Result, error) {
		j, err := journal.CreateFile(path, h)
		return j, nil, err
	}
	if f.resume {
		begin = journal.Continue
	}
	j, done, err := begin(f.out, s.Header(plan, "worker"))
	if err != nil {
		return nil, err
	}
	left := plan.Without(done)
	if len(done) > 0 {
		fmt.Fprintf(stderr, "%s has %d of %d cells already\n", f.out, len(plan.Cells)-len(left.Cells), len(plan.Cells))
	}
	if len(left.Cells) == 0 {
		return done, j.Close()
	}
	results, err := s.Record(ctx, left, j, &lines{w: stderr})
	return append(done, results...), err
}

// hub opens the Hub that the environment names.
func (f *flags) hub(say func(string)) (*hub.Hub, error) {
	s, err := hub.FromEnvironment(os.Getenv)
	if f.offline {
		s.Forbidden = "--offline"
	}
	free := func(dir string) (uint64, error) {
		n, _, err := environment.Free(dir)
		return n, err
	}
	return hub.New(hub.Options{Settings: s, Say: say, Free: free, Agent: "assay-worker/" + version}), err
}

func readPlan(ctx context.Context, path string, cat *catalog.Catalog) (cell.Plan, error) {
	plan, err := planning.ReadFile(ctx, path, os.Stdin)
	if err != nil {
		return plan, err
	}
	plan.Cells, err = planning.Describe(cat, plan.Cells)
	return plan, err
}

// lines reports progress, one line per result.
type lines struct {
	w           io.Writer
	done, total int
}

// Hear prints a line.
func (l *lines) Hear(e progress.Event) error {
	switch e.Kind {
	case progress.KindPlanned:
		l.total = e.Cells
	case progress.KindFinished:
		l.result(*e.Result)
	case progress.KindNote:
		fmt.Fprintln(l.w, e.Text)
	}
	return nil
}

func (l *lines) result(r cell.Result) {
	l.done++
	fmt.Fprintf(l.w, "%d/%d %s on %s, %s %s batch %d: %s\n", l.done, max(l.done, l.total), r.Cell.Model(), r.Cell.Target, r.Cell.Size, r.Cell.DType, r.Cell.Batch, r.Shown().Word())
	if r.Failure != nil {
		fmt.Fprintf(l.w, "    %s: %s\n", r.Failure.Class, r.Failure.Detail)
	}
}

// detectHere tells what a machine has; nil is this one.
func detectHere(ctx context.Context, args []string, machine *detect.Machine, stdout, stderr io.Writer) error {
	f, err := parse("detect", args)
	if err != nil {
		return err
	}
	m, _, err := maker(f, stderr)
	if err != nil {
		return err
	}
	s := session.New(session.Options{Environments: session.Chosen{Maker: m, Choice: environment.Choice{Python: f.python}}, Machine: machine})
	defer s.Close()
	how := session.Asking{NoBrowsers: true}
	if f.capture != "" {
		return s.Capture(ctx, f.capture, how)
	}
	report, err := s.Detect(ctx, how)
	if err != nil {
		return err
	}
	return clean.WriteJSON(stdout, report, "  ")
}
