package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"assay/internal/verify"

	"github.com/spf13/cobra"
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
	fs.IntVar(&f.workers, "workers", 1, "combinations to run in parallel")
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
	all, err := verify.Combinations(f.pipelines, on)
	if err != nil {
		return usage("%w", err)
	}
	v, err := a.openVerifier(ctx, f)
	if err != nil {
		return err
	}
	found, err := v.All(ctx, all, f.workers, func(o verify.Outcome) { a.say(verifiedLine(o)) })
	if err != nil {
		return err
	}
	err = a.print(verifyAnswer{Schema: 1, Combinations: found, Mutants: verify.Count(found)}, func(w io.Writer) error { return writeVerified(w, found) })
	if err != nil {
		return err
	}
	if verify.Count(found)[string(verify.Failed)] > 0 {
		return &statusError{exitFails, nil}
	}
	return nil
}

// openVerifier opens what running generated files needs.
func (a *app) openVerifier(ctx context.Context, f *verifyFlags) (verify.Verifier, error) {
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
	self, err := a.itself().shell()
	return verify.Verifier{Catalog: cat, Python: env.Group, Program: self, Limit: f.limit}, err
}

func verifiedLine(o verify.Outcome) string {
	line := fmt.Sprintf("%s on %s (%s): %s in %.0f s", o.Pipeline, o.Platform, o.Model, o.State, o.Seconds)
	if o.Why != "" {
		line += ": " + o.Why
	}
	return line
}

// writeVerified prints a row for each combination, and what it came to.
func writeVerified(out io.Writer, found []verify.Outcome) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
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
	t := verify.Count(found)
	fmt.Fprintf(out, "\n%d passed, %d failed, %d not run here; %d of %d broken models noticed\n",
		t["passed"], t["failed"], t["not-run-here"], t["noticed"], t["tried"])
	return nil
}

func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
