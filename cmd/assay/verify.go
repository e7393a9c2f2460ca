package main

import (
	"context"
	"fmt"
	"sync"
	"text/tabwriter"
	"time"

	"assay/internal/platform"
	"assay/internal/verify"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// verifyFlags say what is verified.
type verifyFlags struct {
	pipelines, platforms []string
	workers              int
	limit                time.Duration
}

func verifyCommand(a *app) *cobra.Command {
	f := &verifyFlags{}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Show that generated tests run, and that they can fail",
		Long: `Verify generates the test of a representative model for each of nine pipelines on each of eight platforms, compiles and
lints it, and runs it where the platform is here: on real hardware, on an emulator, in a browser. Then it breaks the
model in eight ways (noise of ten tolerances, one NaN, swapped batch rows, a zeroed layer, a tensor lost on reload,
silently on the CPU, silently fp32, a constant output): each must turn the test red.

Exit status: 0 all that could run passed and every broken model was noticed; 1 the program failed; 2 wrong usage;
3 some test failed, or some broken model was not noticed.`,
		Example: `  assay verify --pipelines text --platforms cpu
  assay verify --platforms openvino,webnn --json
  assay verify --workers 2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.verify(c.Context(), f) },
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.pipelines, "pipelines", verify.Pipelines(), "the pipelines")
	fs.StringSliceVar(&f.platforms, "platforms", []string{"all"}, "all, auto (those of this machine), or names of platforms")
	fs.IntVar(&f.workers, "workers", 1, "combinations side by side")
	fs.DurationVar(&f.limit, "timeout", 15*time.Minute, "limit for one combination")
	return c
}

func (a *app) verify(ctx context.Context, f *verifyFlags) error {
	if f.workers < 1 {
		return usage("--workers %d is out of range: it must be at least 1", f.workers)
	}
	on, err := a.findPlatforms(ctx, f.platforms)
	if err != nil {
		return err
	}
	// In the order in which platforms are always shown.
	var ordered []platform.Name
	for _, n := range platform.Names() {
		for _, asked := range on {
			if n == asked {
				ordered = append(ordered, n)
			}
		}
	}
	all, err := verify.Combinations(f.pipelines, ordered)
	if err != nil {
		return usage("%w", err)
	}
	v, err := a.verifier(ctx, f)
	if err != nil {
		return err
	}
	found, err := a.verifyAll(ctx, v, all, f.workers)
	if err != nil {
		return err
	}
	if a.asJSON {
		err = a.printJSON(verifyAnswer{Schema: 1, Combinations: found, Mutants: tally(found)})
	} else {
		err = a.tellVerified(found)
	}
	if err != nil {
		return err
	}
	for _, o := range found {
		if o.State == verify.Failed {
			return &statusError{exitFails, nil}
		}
	}
	return nil
}

// verifier opens what running generated files needs.
func (a *app) verifier(ctx context.Context, f *verifyFlags) (verify.Verifier, error) {
	cat, err := a.catalog(ctx)
	if err != nil {
		return verify.Verifier{}, err
	}
	m, err := a.maker()
	if err != nil {
		return verify.Verifier{}, err
	}
	env, err := m.Open(ctx, a.choice())
	if err != nil {
		return verify.Verifier{}, err
	}
	self, err := a.shellCommand()
	return verify.Verifier{Catalog: cat, Python: env.Group, Program: self, Limit: f.limit}, err
}

// verifyAll verifies the combinations, so many at a time, and says of each what
// became of it as soon as it is known.
func (a *app) verifyAll(ctx context.Context, v verify.Verifier, all []verify.Combination, workers int) ([]verify.Outcome, error) {
	found := make([]verify.Outcome, len(all))
	var saying sync.Mutex
	g, stopped := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i, c := range all {
		g.Go(func() error {
			if stopped.Err() != nil {
				return context.Cause(stopped)
			}
			o, err := v.Verify(stopped, c)
			if err != nil {
				return err
			}
			found[i] = o
			saying.Lock()
			defer saying.Unlock()
			a.say(verifiedLine(o))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return found, context.Cause(stopped) // the caller's own reason, if that came first
	}
	return found, context.Cause(ctx) // it may have come after the last one
}

func verifiedLine(o verify.Outcome) string {
	line := fmt.Sprintf("%s on %s (%s): %s in %.0f s", o.Pipeline, o.Platform, o.Model, o.State, o.Seconds)
	if o.Why != "" {
		line += ": " + o.Why
	}
	return line
}

// tellVerified prints a row for each combination, and what it came to.
func (a *app) tellVerified(found []verify.Outcome) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PIPELINE\tPLATFORM\tMODEL\tSTATE\tTESTS\tBROKEN MODELS NOTICED\tWHY")
	for _, o := range found {
		tried, noticed := o.Tried()
		counts, mutants := "-", "-"
		if o.State != verify.NotHere {
			counts = fmt.Sprintf("%d of %d", len(o.Passed), len(o.Passed)+len(o.Failed))
			mutants = fmt.Sprintf("%d of %d", noticed, tried)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Pipeline, o.Platform, o.Model, o.State, counts, mutants, shortened(o.Why, 90))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t := tally(found)
	fmt.Fprintf(a.stdout, "\n%d passed, %d failed, %d not run here; %d of %d broken models noticed\n",
		t["passed"], t["failed"], t["not-run-here"], t["noticed"], t["tried"])
	return nil
}

func tally(found []verify.Outcome) map[string]int {
	t := map[string]int{"passed": 0, "failed": 0, "not-run-here": 0, "tried": 0, "noticed": 0}
	for _, o := range found {
		t[string(o.State)]++
		tried, noticed := o.Tried()
		t["tried"] += tried
		t["noticed"] += noticed
	}
	return t
}

func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
