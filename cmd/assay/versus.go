package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/journal"
	"assay/internal/progress"
	"assay/internal/session"
	"assay/internal/versus"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// versusFlags are those of bench that compare.
type versusFlags struct {
	compareFlags
	ab        []string
	baseline  string
	oldPython string
}

func (v *versusFlags) add(c *cobra.Command) {
	v.compareFlags.add(c)
	c.Flags().StringArrayVar(&v.ab, "ab", nil, `two settings, repeats interleaved: --ab "threads=1" "threads=2"`)
	c.Flags().StringVar(&v.baseline, "baseline", "", "compare with this baseline or other side; without models, its cells are run")
	c.Flags().StringVar(&v.oldPython, "old-python", "", "with --baseline, the Python of the old side: candidates are then run on both sides, interleaved")
}

// asked says whether bench is to compare.
func (v *versusFlags) asked() bool { return len(v.ab) > 0 || v.baseline != "" }

// check refuses what does not go together.
func (v *versusFlags) check(a *app, flags *pflag.FlagSet) error {
	switch {
	case !v.asked() && (flags.Changed("across") || flags.Changed("format") || flags.Changed("out") || flags.Changed("old-python")):
		return usage("--across, --format, --out and --old-python are for comparisons: use --ab or --baseline with them")
	case !v.asked():
		return nil
	case len(v.ab) > 0 && v.baseline != "":
		return usage("--ab compares two settings, --baseline a setting with stored results: choose one")
	case len(v.ab) > 2:
		return usage("--ab takes two settings, not %d", len(v.ab))
	case v.oldPython != "" && v.baseline == "":
		return usage("--old-python is for --baseline: name two Pythons with --ab \"python=…\" \"python=…\"")
	case flags.Changed("junit") || flags.Changed("jsonl"):
		return usage("--junit and --jsonl print single results: they cannot be used with --ab or --baseline")
	}
	return v.compareFlags.check(a)
}

// arm is one side: its settings in words, what runs it, and its cells.
type arm struct {
	name    string
	session *session.Session
	plan    cell.Plan
}

// try checks one cell of the arm.
func (x arm) try(on progress.Listener) versus.Arm {
	return func(ctx context.Context, c cell.Cell) (versus.Trial, error) {
		plan := x.plan
		plan.Cells = []cell.Cell{c}
		return x.session.Try(ctx, plan, on)
	}
}

// secondSetting takes the second of --ab "A" "B" from the arguments, where the shell
// left it: of all that a model may be called, nothing is a list of settings.
func (v *versusFlags) secondSetting(args []string) ([]string, error) {
	if len(v.ab) == 2 {
		return args, nil
	}
	i := slices.IndexFunc(args, func(s string) bool { return s == "" || isSettings(s) })
	if i < 0 {
		return args, usage("--ab needs two settings: --ab \"threads=1\" \"threads=2\"; \"\" is none")
	}
	v.ab = append(v.ab, args[i])
	return slices.Delete(slices.Clone(args), i, i+1), nil
}

// abKeys are what may differ between the two, beside the flags of a cell.
var abKeys = []string{"model", "python"}

func isSettings(s string) bool {
	pairs, err := parseSettings(s)
	return err == nil && len(pairs) > 0
}

func parseSettings(text string) ([][2]string, error) {
	var out [][2]string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		key, value, ok := strings.Cut(word, "=")
		key = strings.TrimPrefix(key, "--")
		if !ok || value == "" || !slices.Contains(append(slices.Clone(settings), abKeys...), key) {
			return nil, usage("--ab: %q is not a setting: write NAME=VALUE, where NAME is one of %s, %s", word, strings.Join(settings, ", "), strings.Join(abKeys, ", "))
		}
		out = append(out, [2]string{key, value})
	}
	return out, nil
}

// benchAB is bench --ab.
func (a *app) benchAB(ctx context.Context, f *carryFlags, v *versusFlags, args []string, timing cell.Timing) error {
	args, err := v.secondSetting(args)
	if err != nil {
		return err
	}
	var wanted [2]setting
	for i, text := range v.ab { // all that may be wrong is said before anything is installed for either
		if wanted[i], err = a.setting(ctx, f, text, args); err != nil {
			return err
		}
	}
	var arms [2]arm
	for i := range v.ab {
		other := (*session.Session)(nil)
		if i == 1 && !wanted[0].python && !wanted[1].python {
			other = arms[0].session
		}
		if arms[i], err = wanted[i].arm(ctx, timing, other); err != nil {
			return err
		}
		if arms[i].session != other {
			defer arms[i].session.Close()
		}
	}
	if n, m := len(arms[0].plan.Cells), len(arms[1].plan.Cells); n != m {
		return usage("--ab pairs cells one by one, and the two settings mean %d and %d", n, m)
	}
	var pairs []versus.Pair
	for i, c := range arms[0].plan.Cells {
		pairs = append(pairs, versus.Pair{A: c, B: arms[1].plan.Cells[i]})
	}
	r, results, err := a.runPairs(ctx, arms, pairs, allFields())
	if err != nil {
		return err
	}
	if r.Outcome == compare.Regression {
		r.Outcome = compare.Different
	}
	if err := a.writeCompared(r, &v.compareFlags); err != nil {
		return err
	}
	if err := status(results, f.Strict); err != nil {
		return err
	}
	return comparedStatus(r)
}

func allFields() []string {
	var out []string
	for _, x := range compare.Fields() {
		out = append(out, x.Name)
	}
	return out
}

// setting is one side as it was asked for: understood, and nothing opened.
type setting struct {
	text   string
	app    *app
	flags  *carryFlags
	args   []string
	python bool // it names a Python
}

// setting understands the text of one side.
func (a *app) setting(ctx context.Context, f *carryFlags, text string, args []string) (setting, error) {
	pairs, err := parseSettings(text)
	if err != nil {
		return setting{}, err
	}
	side, c := &carryFlags{}, &cobra.Command{}
	side.add(c, "auto")
	side.addName(c)
	f.flags.Visit(func(flag *pflag.Flag) { copyFlag(c.Flags(), flag) })
	side.Repeats, side.WaitQuietS, side.MaxTempC, side.Pin, side.as = f.Repeats, f.WaitQuietS, f.MaxTempC, f.Pin, f.as
	app := *a
	out := setting{text: cmp.Or(text, "as it is"), app: &app, flags: side, args: args}
	for _, p := range pairs {
		switch p[0] {
		case "python":
			app.python, app.used, out.python = p[1], nil, true
		case "model":
			out.args = []string{p[1]}
		default:
			if err := c.Flags().Set(p[0], p[1]); err != nil {
				return setting{}, usage("--ab: %s", sayPlainly(err))
			}
		}
	}
	if side.none(out.args) {
		return setting{}, usage("bench needs a model: name one, or one for each side with --ab \"model=bert\" \"model=vit\"")
	}
	if err := side.check(); err != nil {
		return setting{}, err
	}
	return out, out.check(ctx)
}

// check refuses models and values that cannot be.
func (s setting) check(ctx context.Context) error {
	cat, err := s.app.catalog(ctx)
	if err != nil {
		return err
	}
	r := s.flags.request(s.args)
	if err := r.Check(); err != nil {
		return err
	}
	p := s.app.planner(&s.flags.hubFlags, cat, nil)
	p.Say = func(string) {} // the plan itself will say it
	_, err = p.Models(ctx, r)
	return err
}

// arm makes the plan of a setting, and a session unless it shares another's.
func (s setting) arm(ctx context.Context, timing cell.Timing, other *session.Session) (arm, error) {
	opened, plan, err := s.app.prepare(ctx, s.flags, s.args, timing)
	if err != nil {
		return arm{}, err
	}
	if other != nil {
		return arm{s.text, other, plan}, opened.Close()
	}
	return arm{s.text, opened, plan}, nil
}

// copyFlag sets a flag as it was set in another set that has it.
func copyFlag(to *pflag.FlagSet, from *pflag.Flag) {
	flag := to.Lookup(from.Name)
	if flag == nil {
		return
	}
	if list, ok := from.Value.(pflag.SliceValue); ok {
		if into, ok := flag.Value.(pflag.SliceValue); ok {
			_ = into.Replace(list.GetSlice()) // which was parsed before
			flag.Changed = true
			return
		}
	}
	_ = to.Set(from.Name, from.Value.String()) // likewise
}

// runPairs times pairs in one journal, and returns the comparison with all results.
func (a *app) runPairs(ctx context.Context, arms [2]arm, pairs []versus.Pair, across []string) (r compare.Report, results []cell.Result, err error) {
	whole := arms[0].plan
	whole.Cells = slices.Concat(arms[0].plan.Cells, arms[1].plan.Cells)
	on := a.notes()
	err = a.journaled(ctx, arms[0].session, whole, func(h journal.Header, record func(cell.Result) error) (err error) {
		r, err = versus.Run(ctx, arms[0].try(on), arms[1].try(on), pairs, versus.Options{
			Note: a.say, Host: h.Host, Run: h.Run.ID, Across: across, Now: time.Now().UTC(),
			Record: func(r cell.Result) error {
				results = append(results, r)
				return record(r)
			},
		})
		r.A, r.B = sideOf(arms[0].name, h, len(pairs)), sideOf(arms[1].name, h, len(pairs))
		r.Footer.Machine = compare.MachineName(h.Host)
		return err
	})
	return r, results, err
}

func sideOf(name string, h journal.Header, n int) compare.Summary {
	return compare.Summary{Name: name, Kind: "setting", Runs: []string{h.Run.ID}, Cells: n, Hosts: []cell.Host{h.Host}, From: h.Run.StartedAt, To: h.Run.StartedAt}
}

// journaled keeps the results of a run whose repeats the caller orders.
func (a *app) journaled(ctx context.Context, s *session.Session, plan cell.Plan, run func(journal.Header, func(cell.Result) error) error) error {
	if err := s.Ready(ctx, plan); err != nil {
		return err
	}
	dir, err := a.home().JournalsToWrite(ctx)
	if err != nil {
		return err
	}
	h := s.Header(plan, "bench")
	j, err := journal.Create(dir, h)
	if err != nil {
		return err
	}
	err = run(h, func(r cell.Result) error {
		_, err := j.Append(r)
		return err
	})
	if err == nil {
		err = j.End()
	}
	return errors.Join(err, j.Close())
}

// notes hears what a run says while it runs, and prints its sentences once.
func (a *app) notes() progress.Listener {
	said := map[string]bool{}
	return progress.Func(func(e progress.Event) error {
		if e.Kind == progress.KindNote && !said[e.Text] {
			said[e.Text] = true
			a.say(e.Text)
		}
		return nil
	})
}
