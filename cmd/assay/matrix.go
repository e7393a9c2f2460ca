package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/history"
	"assay/internal/matrix"
	"assay/internal/platform"
	"assay/internal/plots"
	"assay/internal/report"
	"assay/internal/session"
	"assay/internal/trend"

	"github.com/spf13/cobra"
)

// matrixFlags say how a matrix is shown.
type matrixFlags struct {
	metric, by, out, format string
}

func (f *matrixFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.metric, "metric", "verdict", "what cells show: verdict, latency, load, memory, speedup")
	fs.StringVar(&f.by, "by", "model", "rows: model or family")
	fs.StringVar(&f.out, "out", "", "also write "+listed(report.Files(), "and")+" into this folder")
	fs.StringVar(&f.format, "format", "text", "print "+listed(report.Formats(), "or"))
}

// listed joins names as a sentence does: "a, b and c".
func listed[S ~string](names []S, last string) string {
	most := len(names) - 1
	return platform.Join(names[:most]) + " " + last + " " + string(names[most])
}

// check says what is wrong with the flags before anything is run.
func (f *matrixFlags) check() error {
	if _, err := report.ParseMetric(f.metric); err != nil {
		return usage("%w", err)
	}
	if f.by != "model" && f.by != "family" {
		return usage("unknown rows %q: matrices are shown by model or family", f.by)
	}
	if _, err := report.ParseFormat(f.format); err != nil {
		return usage("%w", err)
	}
	return nil
}

func matrixCommand(a *app) *cobra.Command {
	f, m := &carryFlags{}, &matrixFlags{}
	var resume, bench bool
	c := &cobra.Command{
		Use:   "matrix [MODEL…]",
		Short: "Models × platforms: run what is missing, and show it all",
		Long: `Matrix tests the chosen models on the chosen platforms and prints models down, platforms across.
A platform that is not here is recorded as unavailable, or, for mps and rocm, with a verdict derived from
torch's own list of kernels; nothing is run elsewhere in its place.
` + exitHelp,
		Example: `  assay matrix --key --platform all
  assay matrix --representatives --platform cpu --resume
  assay matrix --key --platform cpu,cuda --bench --metric speedup
  assay matrix --key --platform all --fleet nats://host:4222
  assay matrix show --by family`,
		RunE: func(c *cobra.Command, args []string) error {
			timing := cell.Functional
			if bench {
				timing = cell.Quick
			}
			return a.runMatrix(c.Context(), f, m, args, timing, resume)
		},
	}
	f.add(c, "all")
	f.addName(c)
	f.fleet.add(c)
	m.add(c)
	c.Flags().BoolVar(&resume, "resume", false, "skip cells that this host has a result of with the same versions and files")
	c.Flags().BoolVar(&bench, "bench", false, "time every cell that works")
	c.AddCommand(matrixShow(a))
	return c
}

func matrixShow(a *app) *cobra.Command {
	s, m := &selectors{}, &matrixFlags{}
	c := &cobra.Command{
		Use: "show [MODEL…]", Short: "Print what is known, by your results and by the atlas; run nothing",
		Long: `Show prints the matrix of your results. Where you have none of a type on a platform, it shows what the atlas says, marked atlas: so a
matrix can be shown before anything ran. What the atlas says counts in no total.`,
		Example: `  assay matrix show
  assay matrix show --by family
  assay matrix show --key --metric latency`,
		RunE: func(c *cobra.Command, args []string) error {
			cat, err := a.catalog(c.Context())
			if err != nil {
				return err
			}
			if !s.none(args) {
				entries, err := cat.Select(s.selector(args))
				if err != nil {
					return usage("%w", err)
				}
				return a.showMatrix(c.Context(), m, modelsOf(entries), true)
			}
			// What the catalogue alone knows: the key models stand there though nobody ran them.
			key, err := cat.Select(catalog.Selector{Key: true})
			if err != nil {
				return err
			}
			return a.showMatrix(c.Context(), m, modelsOf(key), false)
		},
	}
	s.add(c)
	m.add(c)
	return c
}

// runMatrix runs what is asked for and shows it.
func (a *app) runMatrix(ctx context.Context, f *carryFlags, m *matrixFlags, args []string, timing cell.Timing, resume bool) error {
	if f.planFile == "" && f.none(args) {
		return usage("matrix needs models: names, or a selector such as --key, --representatives or --all")
	}
	if err := errors.Join(m.check(), f.check()); err != nil {
		return err
	}
	if resume && f.fleet.at != "" {
		return usage("--resume looks at what this machine has run: it cannot be used with --fleet")
	}
	s, plan, err := a.prepare(ctx, f, args, timing)
	if err != nil {
		return err
	}
	defer s.Close()
	plan.NoFallback = true
	rows := matrix.ModelsOf(plan.Cells)
	ran, err := a.fillMatrix(ctx, s, f, plan, resume)
	if err != nil && len(ran) == 0 {
		return err
	}
	if shown := a.showMatrix(context.WithoutCancel(ctx), m, rows, true); err == nil {
		err = shown
	}
	if err != nil {
		return err
	}
	if f.fleet.at != "" {
		return status(ran, f.Strict || plan.Strict)
	}
	h, err := a.home().History()
	if err != nil {
		return err
	}
	latest, err := h.Latest(ctx, s.Host().ID, plan)
	if err != nil {
		return err
	}
	return status(latest, f.Strict || plan.Strict)
}

// fillMatrix carries out what the plan still lacks.
func (a *app) fillMatrix(ctx context.Context, s *session.Session, f *carryFlags, plan cell.Plan, resume bool) ([]cell.Result, error) {
	if resume {
		h, err := a.home().History()
		if err != nil {
			return nil, err
		}
		left, err := unfinished(ctx, h, s, plan)
		if err != nil {
			return nil, err
		}
		if len(left.Cells) == 0 {
			a.say("everything asked for is in the store already")
			return nil, nil
		}
		plan = left
	}
	bar := report.NewProgress(a.stderr, a.terminal, a.environ())
	defer bar.Close()
	rep, err := a.send(ctx, s, &f.fleet, &f.hubFlags, plan, "matrix", bar)
	return rep.Results, err
}

// unfinished is the plan without the cells that need not be run again.
func unfinished(ctx context.Context, h *history.History, s *session.Session, plan cell.Plan) (cell.Plan, error) {
	versions, err := s.Versions(ctx)
	if err != nil {
		return plan, err
	}
	return h.Unfinished(ctx, plan, history.Here{Host: s.Host().ID, Versions: versions, Content: s.Content, Browsers: s.KeptBrowsers})
}

// showMatrix prints the matrix of what the store knows; with only, of the
// named rows alone.
func (a *app) showMatrix(ctx context.Context, m *matrixFlags, rows []matrix.Model, only bool) error {
	if err := m.check(); err != nil {
		return err
	}
	metric, err := report.ParseMetric(m.metric)
	if err != nil {
		return err
	}
	st, err := a.home().Store()
	if err != nil {
		return err
	}
	st.Notice = func(text string) { a.say("note: " + text) }
	observations, hosts, err := observe(ctx, history.In(st), rows, only)
	if err != nil {
		return err
	}
	trends, err := m.trends(ctx, history.In(st), observations)
	if err != nil {
		return err
	}
	d := report.NewDocument(observations, report.Options{
		Now: time.Now().UTC(), Assay: version, Metric: metric, Family: m.by == "family", Models: rows, Hosts: hosts, Trends: trends, Atlas: a.published(),
	})
	if err := report.Write(report.Terminal(a.stdout, a.environ()), a.formatOr(report.Format(m.format)), d); err != nil {
		return err
	}
	if m.out == "" {
		return nil
	}
	names, err := report.WriteFolder(m.out, d)
	if err == nil {
		a.say("wrote " + filepath.Join(m.out, names[0]) + ", " + strings.Join(names[1:len(names)-1], ", ") + " and " + names[len(names)-1])
	}
	return err
}

// trends are the histories of the cells that are shown, where they will be plotted.
func (f *matrixFlags) trends(ctx context.Context, h *history.History, shown []matrix.Observation) ([]trend.Series, error) {
	if f.out == "" && report.Format(f.format) != report.HTML {
		return nil, nil
	}
	type row struct{ modelType, checkpoint string }
	wanted := map[row]bool{}
	for _, o := range shown {
		wanted[row{o.Cell.Type, o.Cell.Checkpoint}] = true
	}
	entries, err := h.Entries(ctx, history.Chosen{})
	return trend.Of(slices.DeleteFunc(entries, func(e compare.Entry) bool { return !wanted[row{e.Result.Cell.Type, e.Result.Cell.Checkpoint}] })), err
}

// observe is what the store knows; with only, of the named rows alone.
func observe(ctx context.Context, h *history.History, rows []matrix.Model, only bool) ([]matrix.Observation, []cell.Host, error) {
	if only {
		return h.ObservationsOf(ctx, rows)
	}
	return h.Observations(ctx)
}

func modelsOf(entries []catalog.Choice) []matrix.Model {
	out := make([]matrix.Model, len(entries))
	for i, e := range entries {
		out[i] = matrix.Model{Type: e.Entry.Type, Checkpoint: e.Checkpoint, Family: e.Entry.Family, Priority: e.Entry.Priority}
	}
	return out
}

func reportCommand(a *app) *cobra.Command {
	m := &matrixFlags{}
	c := &cobra.Command{
		Use: "report", Short: "Write what is known as one HTML file, Markdown, JSON, SVG and plots; run nothing",
		Example: `  assay report --out out
  assay report --format md`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.showMatrix(c.Context(), m, nil, false); err != nil || m.out == "" {
				return err
			}
			return a.writePlots(c.Context(), filepath.Join(m.out, "plots"))
		},
	}
	m.add(c)
	return c
}

// writePlots draws what was measured; where nothing was there is no plot.
func (a *app) writePlots(ctx context.Context, dir string) error {
	past, err := a.home().History()
	if err != nil {
		return err
	}
	observations, _, err := past.Observations(ctx)
	if err != nil {
		return err
	}
	entries, err := past.Entries(ctx, history.Chosen{})
	if err != nil {
		return err
	}
	names, err := plots.Write(dir, plots.Of(observations, trend.Of(entries)))
	if err == nil && len(names) > 0 {
		a.say(fmt.Sprintf("drew %s in %s", strings.Join(names, ", "), dir))
	}
	return err
}
