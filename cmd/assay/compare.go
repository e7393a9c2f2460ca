package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/baseline"
	"assay/internal/compare"
	"assay/internal/report"
	"assay/internal/sides"
	"assay/internal/wholefile"

	"github.com/spf13/cobra"
)

// compareFlags are what compare takes beside its sides.
type compareFlags struct {
	across      []string
	since       string
	format, out string
}

func compareCommand(a *app) *cobra.Command {
	f := &compareFlags{}
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "What changed? Verdicts, speed, load, memory and energy of two sides",
		Long: `Compare sets two sides of results beside each other, of each cell the newest: what broke and what was fixed,
evidence that became weaker, operations that moved elsewhere, errors that grew; then speed, as the ratio of medians over
repeats with its interval and an exact p; then load, memory and energy. What else differs (driver, versions, threads,
governor, host) is listed. What may not be compared is refused with the field that differs.

A side is one of these. A prefix says which; without one the first that knows the word is meant, in this order:
` + sides.Help() + `
With --since DATE and no sides, what was newest before the date is compared with what is newest since.

A cell is slower or faster where the medians differ by at least 2.5 % and by more than two standard errors, and where p,
corrected for the number of cells, is at most 5 %. Where only the first holds it is a candidate, which fails nobody: six
repeats cannot show a lone change among many cells. "assay bench --baseline" runs candidates again.

--across FIELD,… compares although these differ:
` + acrossHelp() + `
Exit status: 0 nothing got worse; 1 the program failed; 2 wrong usage; 3 a regression or a new failure;
5 nothing could be compared.`,
		Example: `  assay test bert --platform cpu --as old && assay test bert --platform cpu --as new && assay compare old new
  assay compare previous latest
  assay compare target:cpu target:openvino --format md
  assay compare --since 2026-11-15`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.compare(c.Context(), f, args) },
	}
	f.add(c)
	c.Flags().StringVar(&f.since, "since", "", "only results since this day or moment in UTC; without sides, before against since")
	return c
}

func (f *compareFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.across, "across", nil, "compare although these fields differ, such as host or timing")
	c.Flags().StringVar(&f.format, "format", "", "text, json, md, html, benchstat (read with benchstat -col side)")
	c.Flags().StringVar(&f.out, "out", "", "write the comparison to this file; its ending names the format")
}

func acrossHelp() string {
	var b strings.Builder
	for _, x := range compare.Fields() {
		fmt.Fprintf(&b, "  %-16s %s\n", x.Name, x.Help)
	}
	return b.String()
}

// finder finds sides in this user's data.
func (a *app) finder() (sides.Finder, error) {
	past, err := a.home().History()
	if err != nil {
		return sides.Finder{}, err
	}
	baselines, err := a.baselines()
	return sides.Finder{Past: past, Baselines: baselines}, err
}

// baselines are kept beside the journals.
func (a *app) baselines() (baseline.Folder, error) {
	_, journals, err := a.home().Paths()
	if err != nil {
		return baseline.Folder{}, err
	}
	dir := filepath.Join(filepath.Dir(journals), "baselines")
	if a.db != "" {
		dir = a.db + ".baselines"
	}
	return baseline.Folder{Dir: dir}, nil
}

func (a *app) compare(ctx context.Context, f *compareFlags, args []string) error {
	if err := f.check(a); err != nil {
		return err
	}
	debug.SetGCPercent(shortLived)
	was, is, err := a.twoSides(ctx, f, args)
	if err != nil {
		return err
	}
	across := slices.Concat(f.across, sides.Implied(was, is))
	r := compare.Compare(was, is, compare.Options{Across: across, Now: time.Now().UTC(), Stored: true})
	return a.printCompared(r, f)
}

// shortLived is how much the heap may grow before it is looked through: two sweeps are
// read, compared and printed, and the program ends.
const shortLived = 800

// check refuses what could only be said to be wrong after the work.
func (f *compareFlags) check(a *app) error {
	if err := compare.CheckAcross(f.across); err != nil {
		return usage("--across: %w", err)
	}
	if a.asJSON && f.format == "" {
		f.format = string(report.JSON)
	}
	if f.format == "" {
		f.format = map[string]string{".json": "json", ".md": "md", ".html": "html", ".txt": "text"}[filepath.Ext(f.out)]
	}
	if f.format == "" && f.out != "" {
		return usage("--out %s: its ending names no format; name one with --format", f.out)
	}
	if f.format == "" {
		f.format = string(report.Text)
	}
	if err := report.WriteCompared(io.Discard, report.Format(f.format), compare.Report{}); err != nil {
		return usage("%w", err)
	}
	return writable(f.out)
}

func (a *app) twoSides(ctx context.Context, f *compareFlags, args []string) (was, is compare.Side, err error) {
	find, err := a.finder()
	if err != nil {
		return was, is, err
	}
	switch {
	case len(args) == 0 && f.since != "":
		was, is, err = find.Around(ctx, f.since)
	case len(args) != 2:
		return was, is, usage("compare needs two sides, such as \"previous latest\", or --since DATE alone (see \"assay compare --help\")")
	default:
		if f.since != "" {
			if find.Since, err = sides.ParseDate(f.since); err != nil {
				return was, is, err
			}
		}
		var other error
		var both sync.WaitGroup // sweeps are large
		both.Go(func() { was, err = find.Find(ctx, args[0]) })
		both.Go(func() { is, other = find.Find(ctx, args[1]) })
		both.Wait()
		err = cmp.Or(err, other)
	}
	return was, is, err
}

// printCompared prints a comparison and returns the exit status that it asks for.
func (a *app) printCompared(r compare.Report, f *compareFlags) error {
	if err := a.writeCompared(r, f); err != nil {
		return err
	}
	return comparedStatus(r)
}

func (a *app) writeCompared(r compare.Report, f *compareFlags) error {
	format := report.Format(f.format)
	if f.out == "" {
		return report.WriteCompared(report.Terminal(a.stdout, a.environ()), format, r)
	}
	err := wholefile.Stream(f.out, wholefile.Options{Mode: 0o644}, func(w *os.File) error { return report.WriteCompared(w, format, r) })
	if err == nil {
		a.say("wrote " + f.out)
	}
	return err
}

func comparedStatus(r compare.Report) error {
	switch r.Outcome {
	case compare.Regression:
		return &statusError{exitFails, nil}
	case compare.Nothing:
		return &statusError{exitNothing, fmt.Errorf("%s", report.Verdict(r))}
	}
	return nil
}
