package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"assay/internal/clean"
	"assay/internal/fleet"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"

	"github.com/spf13/cobra"
)

// fleetVariable names the coordinator where no flag does.
const fleetVariable = "ASSAY_FLEET"

// fleetFlag says which coordinator is meant.
type fleetFlag struct{ at string }

// office connects to a coordinator.
func (a *app) office(at, command string) (fleet.Office, func(), error) {
	t, err := keys.Read(at)
	if err == nil {
		err = t.For(keys.User)
	}
	if err != nil {
		return nil, nil, usage("--fleet: %w", err)
	}
	nc, err := t.Connect(wire.Options{Name: "assay " + command, On: a.say})
	if wire.Refused(err) {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: is the coordinator running there? (assay coordinator)", err)
	}
	return wire.NewClient(nc, t.Name, 0), nc.Close, nil
}

// defaultFleet is the coordinator of this machine.
const defaultFleet = "nats://127.0.0.1:4222"

func fleetCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Look at a fleet and steer it: workers, sweeps, tasks, keys",
		Long: `Fleet asks a coordinator, the one of this machine unless --fleet or ` + fleetVariable + ` names another: an address
(nats://host:4222) or a ticket's file.`,
		Example: `  assay fleet status
  assay fleet workers --fleet nats://host:4222`,
	}
	f := &fleetFlag{}
	c.PersistentFlags().StringVar(&f.at, "fleet", "", "the coordinator: an address or a ticket's file (default: "+fleetVariable+", or "+defaultFleet+")")
	c.AddCommand(
		fleetStatus(a, f), fleetWorkers(a, f), fleetTasks(a, f), fleetResults(a, f), fleetOutliers(a, f),
		steerCommand(a, f, fleet.KindCancel, "cancel SWEEP", "Drop what a sweep has not got yet"),
		steerCommand(a, f, fleet.KindPause, "pause SWEEP", "Hand out no more of a sweep's cells"),
		steerCommand(a, f, fleet.KindResume, "resume SWEEP", "Go on with a paused sweep"),
		steerCommand(a, f, fleet.KindRequeue, "requeue TASK", "Run a task that has ended once more"),
		steerCommand(a, f, fleet.KindDrain, "drain WORKER", "Give a worker no more tasks; it finishes those that it has"),
		steerCommand(a, f, fleet.KindUndrain, "undrain WORKER", "Give a drained worker tasks again"),
		steerCommand(a, f, fleet.KindBan, "quarantine WORKER", "Trust a worker no longer: it gets no more tasks"),
		steerCommand(a, f, fleet.KindUnban, "release WORKER", "Trust a worker again, after a health check"),
		keyCommand(a), boardCommand(a),
	)
	return c
}

// ask connects to the chosen coordinator and asks it something.
func (a *app) ask(f *fleetFlag, ask func(fleet.Office) error) error {
	office, done, err := a.office(cmp.Or(f.at, a.getenv(fleetVariable), defaultFleet), "fleet")
	if err != nil {
		return err
	}
	defer done()
	return ask(office)
}

func fleetStatus(a *app, f *fleetFlag) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "How the fleet is: workers, sweeps, what waits and what nobody can run",
		Example: "  assay fleet status\n  assay fleet status --json", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.ask(f, func(o fleet.Office) error {
				s, err := o.Status(c.Context())
				if err != nil {
					return err
				}
				return a.print(s, func(w io.Writer) error { return printFleet(w, s) })
			})
		},
	}
}

// printFleet prints a fleet's state for people.
func printFleet(w io.Writer, s fleet.Status) error {
	alive := 0
	for _, x := range s.Workers {
		if x.Alive {
			alive++
		}
	}
	fmt.Fprintf(w, "workers   %d here, %d known\n", alive, len(s.Workers))
	var states []string
	for _, state := range fleet.States() {
		if n := s.Tasks[state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	fmt.Fprintf(w, "tasks     %s\n", cmp.Or(strings.Join(states, ", "), "none"))
	fmt.Fprintf(w, "attempts  %d, of them %d accepted, %d tried elsewhere, %d lost, %d copies; %d late answers kept\n", s.Tally.Attempts, s.Tally.Accepted, s.Tally.Failed, s.Tally.Lost, s.Tally.Copies, s.Tally.Late)
	if s.Problem != "" {
		fmt.Fprintf(w, "problem   %s\n", s.Problem)
	}
	for _, x := range s.Stranded {
		fmt.Fprintf(w, "stuck     %d × %s: %s\n", x.Tasks, x.Target, x.Missing)
	}
	for _, x := range slices.Backward(s.Sweeps[max(0, len(s.Sweeps)-20):]) {
		how := fmt.Sprintf("%d of %d answered", x.Answered, x.Tasks)
		switch {
		case x.Cancelled:
			how += ", cancelled"
		case x.Paused:
			how += ", paused"
		}
		fmt.Fprintf(w, "sweep     %s  %s %s  %s\n", x.ID, x.Command, x.Name, how)
	}
	return nil
}

func fleetWorkers(a *app, f *fleetFlag) *cobra.Command {
	return &cobra.Command{
		Use: "workers", Short: "Who has joined, with what, and what each does now",
		Example: "  assay fleet workers", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.ask(f, func(o fleet.Office) error {
				s, err := o.Status(c.Context())
				if err != nil {
					return err
				}
				return a.print(s.Workers, func(w io.Writer) error { return printWorkers(w, s) })
			})
		},
	}
}

func printWorkers(w io.Writer, s fleet.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tSTATE\tSEEN\tACCEPTED\tRUNS\tHAS")
	for _, x := range s.Workers {
		var has, runs []string
		for _, o := range x.Offers {
			has = append(has, o.String())
		}
		for _, r := range x.Running {
			runs = append(runs, strings.TrimSpace(r.Model+" "+r.Phase))
		}
		seen := "-"
		if !x.Seen.IsZero() {
			seen = s.At.Sub(x.Seen).Round(time.Second).String() + " ago"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\n", x.Name, x.State(), seen, x.Accepted, cmp.Or(strings.Join(runs, ", "), "-"), strings.Join(has, " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range s.Workers {
		if x.Quarantined != "" {
			fmt.Fprintf(w, "%s: %s\n", x.Name, clean.Text(x.Quarantined))
		}
		if x.SkewS > 60 || x.SkewS < -60 {
			fmt.Fprintf(w, "%s: its clock is %.0f s off; times of its results are corrected\n", x.Name, x.SkewS)
		}
	}
	return nil
}

func fleetOutliers(a *app, f *fleetFlag) *cobra.Command {
	return &cobra.Command{
		Use: "outliers", Short: "Which workers stand apart from others on machines of the same kind",
		Long: `Outliers compares what workers on machines of the same kind gave for the same cells, by all that the coordinator's ledger
holds: who alone fails or works, and who is slower or faster than the others by more than they differ among each other.`,
		Example: "  assay fleet outliers", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.ask(f, func(o fleet.Office) error {
				found, err := o.Outliers(c.Context())
				if err != nil {
					return err
				}
				return a.print(found, func(w io.Writer) error {
					if len(found) == 0 {
						fmt.Fprintln(w, "no worker stands apart from others on machines of the same kind")
					}
					for _, x := range found {
						fmt.Fprintf(w, "%s: %s (%s)\n", x.Worker, clean.Text(x.Why), x.Cell.Target)
					}
					return nil
				})
			})
		},
	}
}

func fleetTasks(a *app, f *fleetFlag) *cobra.Command {
	var q fleet.TaskQuestion
	var state string
	c := &cobra.Command{
		Use: "tasks", Short: "What became of each cell, attempt by attempt",
		Example: "  assay fleet tasks --state running\n  assay fleet tasks --sweep 20261118T020000Z-abcdef", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q.State = fleet.State(state)
			if state != "" && !slices.Contains(fleet.States(), q.State) {
				return usage("unknown state %q: the states are %s", state, joined(fleet.States()))
			}
			return a.ask(f, func(o fleet.Office) error {
				tasks, err := o.Tasks(c.Context(), q)
				if err != nil {
					return err
				}
				return a.print(tasks, func(w io.Writer) error { return printTasks(w, tasks) })
			})
		},
	}
	c.Flags().StringVar(&q.Sweep, "sweep", "", "only those of this sweep")
	c.Flags().StringVar(&state, "state", "", "only those in this state: "+joined(fleet.States()))
	c.Flags().IntVar(&q.Most, "most", 1000, "list this many at most")
	return c
}

func joined[S ~string](all []S) string {
	var out []string
	for _, s := range all {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}

func printTasks(w io.Writer, tasks []fleet.TaskStatus) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TASK\tCELL\tSTATE\tATTEMPTS")
	for _, x := range tasks {
		var tried []string
		for _, at := range x.Attempts {
			tried = append(tried, fmt.Sprintf("%d %s %s", at.N, at.Worker, cmp.Or(string(at.End), at.Phase, "running")))
		}
		state := string(x.State)
		if x.Suspect != "" {
			state += " (in doubt)"
		}
		fmt.Fprintf(t, "%s\t%s on %s\t%s\t%s\n", x.Key, clean.Text(x.Cell.Model()), x.Cell.Target, state, cmp.Or(strings.Join(tried, "; "), "-"))
	}
	return t.Flush()
}

func steerCommand(a *app, f *fleetFlag, do fleet.Kind, use, short string) *cobra.Command {
	var why string
	name, what, _ := strings.Cut(use, " ")
	c := &cobra.Command{
		Use: use, Short: short, Example: "  assay fleet " + name + " " + map[string]string{"SWEEP": "20261118T020000Z-abcdef", "WORKER": "lab-3", "TASK": "0123456789abcdef-01234567"}[what],
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.ask(f, func(o fleet.Office) error {
				done, err := o.Steer(c.Context(), fleet.Steering{Do: do, Name: args[0], Why: why})
				if err == nil {
					a.say(done)
				}
				return err
			})
		},
	}
	if do == fleet.KindBan {
		c.Flags().StringVar(&why, "why", "", "a reason, which others see")
	}
	return c
}

// fleetCarry are the flags by which a sweep is sent to a fleet.
type fleetCarry struct {
	at     string
	labels []string
	urgent int
}

func (f *fleetCarry) add(c *cobra.Command) {
	c.Flags().StringVar(&f.at, "fleet", "", "send the cells to this coordinator's workers: an address (nats://host:4222) or a ticket's file")
	c.Flags().StringSliceVar(&f.labels, "on", nil, "with --fleet, only workers with this label: NAME=VALUE; guest=NAME is one browser of a worker's web lab")
	c.Flags().IntVar(&f.urgent, "urgency", 0, "with --fleet, before others' sweeps (above 0) or after them (below)")
}

// check refuses what means nothing.
func (f *fleetCarry) check() error {
	if f.at == "" && (len(f.labels) > 0 || f.urgent != 0) {
		return usage("--on and --urgency are for sweeps that are sent with --fleet")
	}
	return nil
}

// needs are what all cells of the sweep need.
func (f *fleetCarry) needs(h *hubFlags) (fleet.Needs, error) {
	n := fleet.Needs{Labels: map[string]string{}}
	for _, l := range f.labels {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" {
			return n, usage("--on %q: give NAME=VALUE, as a worker's --label", l)
		}
		n.Labels[name] = value
	}
	want := h.want()
	n.Pickle, n.Code = want.Pickle, want.Code
	if len(n.Labels) == 0 {
		n.Labels = nil
	}
	return n, nil
}

// fleetFor connects to the fleet that a sweep is to be sent to; nil is none.
func (a *app) fleetFor(f *fleetCarry, command string) (fleet.Office, func(), error) {
	if f.at == "" {
		return nil, func() {}, nil
	}
	return a.office(f.at, command)
}
