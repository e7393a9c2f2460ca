// Package sweep sends a plan to a fleet and brings the results home: each into a
// journal of the machine that it came from, as if that had been imported, before
// anybody hears of it.
package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/journal"
	"assay/internal/progress"
)

// Options are how a plan is sent.
type Options struct {
	Office  fleet.Office
	Header  journal.Header // of the run: its id becomes the sweep's
	Dir     string         // of journals
	Command string
	By      string
	Needs   fleet.Needs // that all its cells have, beside their targets
	// Priority is above or below others' sweeps.
	Priority int
}

// sender is a sweep under way.
type sender struct {
	Options
	on       progress.Listener
	id       string
	tasks    map[string]fleet.Task // by key, those without an answer
	journals map[string]*journal.Writer
	results  []cell.Result
	hosts    map[string]cell.Host
	taken    int // answers
	told     map[string]bool
	given    bool // up, because nobody can run what is left
}

// part is how many tasks are sent at a time.
const part = 500

// Split divides a plan: what any machine can run, and what names files of this one.
func Split(plan cell.Plan) (travels, stays cell.Plan) {
	travels, stays = plan, plan
	travels.Cells = slices.DeleteFunc(slices.Clone(plan.Cells), func(c cell.Cell) bool { return !c.Travels() })
	stays.Cells = slices.DeleteFunc(slices.Clone(plan.Cells), cell.Cell.Travels)
	return travels, stays
}

// Carry sends a plan and returns when every cell has its result, or nobody is there
// to run what is left. When ctx is done the rest is cancelled, and what was
// finished is returned.
func Carry(ctx context.Context, plan cell.Plan, o Options, on progress.Listener) (report cell.Report, err error) {
	s := &sender{
		Options: o, on: progress.OneAtATime(on), id: o.Header.Run.ID, tasks: map[string]fleet.Task{},
		journals: map[string]*journal.Writer{}, hosts: map[string]cell.Host{}, told: map[string]bool{},
	}
	defer func() {
		for _, j := range s.journals {
			if err == nil {
				err = j.End()
			}
			err = errors.Join(err, j.Close())
		}
	}()
	if err := s.submit(ctx, plan); err != nil {
		s.cancel(ctx) // some of it may be there
		return cell.Report{}, err
	}
	_ = on.Hear(progress.Planned(len(s.tasks)))
	err = s.follow(ctx)
	if ctx.Err() != nil {
		s.cancel(ctx)
	}
	return reported(o.Header.Run, slices.Collect(maps.Values(s.hosts)), s.results), err
}

// reported is a sweep's report: of the machine that all of it is from, or of the fleet.
func reported(run cell.Run, hosts []cell.Host, results []cell.Result) cell.Report {
	host := cell.Host{ID: "fleet"}
	if len(hosts) == 1 {
		host = hosts[0]
	}
	return cell.Report{Schema: cell.Schema, Run: run, Host: host, Results: results}
}

// submit sends the plan's cells.
func (s *sender) submit(ctx context.Context, plan cell.Plan) error {
	var all []fleet.Task
	for _, c := range plan.Cells {
		t := fleet.NewTask(c, plan, s.Needs)
		t.Priority = s.Priority
		if _, twice := s.tasks[t.Key]; !twice {
			s.tasks[t.Key] = t
			all = append(all, t)
		}
	}
	run := s.Header.Run
	sweep := fleet.Sweep{ID: s.id, Name: run.Name, Command: s.Command, PlanHash: run.PlanHash, By: s.By, Tasks: len(all), Started: run.StartedAt, Assay: run.Assay}
	n := 0
	for tasks := range slices.Chunk(all, part) {
		sub := fleet.Submission{Sweep: sweep, Part: n, Tasks: tasks, Last: (n+1)*part >= len(all)}
		if err := again(ctx, func() error { _, err := s.Office.Submit(ctx, sub); return err }); err != nil {
			return err
		}
		n++
	}
	return nil
}

// tries is how often a request is made while the coordinator is away.
const tries = 30

// again makes a request until it is answered: a coordinator may be started again
// meanwhile. Sending something twice changes nothing.
func again(ctx context.Context, ask func() error) error {
	var err error
	for range tries {
		if err = ask(); err == nil || ctx.Err() != nil {
			return err
		}
		var refused interface{ Refused() bool }
		if errors.As(err, &refused) && refused.Refused() {
			return err
		}
		t := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
	return err
}

// patience is how long a request for answers waits at the coordinator.
const patience = 10 * time.Second

// follow takes answers until there are no more to come.
func (s *sender) follow(ctx context.Context) error {
	for {
		var page fleet.Page
		err := again(ctx, func() (err error) {
			page, err = s.Office.Answers(ctx, fleet.Question{Sweep: s.id, After: s.taken, Wait: patience})
			return err
		})
		if err != nil {
			return err
		}
		if err := s.take(page.Answers); err != nil {
			return err
		}
		s.taken += len(page.Answers)
		stranded := s.tell(page.Stranded)
		switch {
		case page.Cancelled && !s.given:
			return fmt.Errorf("the sweep %s was cancelled", s.id)
		case page.Left == 0:
			s.doubt(page.Suspect)
			return nil
		case len(page.Answers) == 0 && stranded == page.Left && page.UnderWay == 0:
			s.strand(page.Stranded)
			s.cancel(ctx)
			return nil
		}
		if len(page.Answers) == 0 && len(page.Stranded) > 0 {
			pause(ctx, time.Second)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// take journals answers, machine by machine, and tells of them.
func (s *sender) take(answers []fleet.Final) error {
	by := map[string][]cell.Result{}
	var order []string
	for _, f := range answers {
		delete(s.tasks, f.Key)
		host, results, err := read(f)
		if err != nil {
			return err
		}
		if by[host.ID] == nil && len(results) > 0 {
			order = append(order, host.ID)
			s.hosts[host.ID] = host
		}
		by[host.ID] = append(by[host.ID], results...)
	}
	for _, id := range order {
		j, err := s.journal(s.hosts[id])
		if err != nil {
			return err
		}
		if err := j.AppendAll(by[id]); err != nil {
			return err
		}
		for _, r := range by[id] {
			s.results = append(s.results, r)
			if err := s.on.Hear(progress.Finished(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// read is what an answer holds, and the machine that it is from.
func read(f fleet.Final) (cell.Host, []cell.Result, error) {
	host := cell.Host{ID: "fleet"} // the coordinator's own verdict, of no machine
	if f.Host != nil {
		host = *f.Host
	}
	var out []cell.Result
	for _, body := range f.Results {
		var r cell.Result
		if err := json.Unmarshal(body, &r); err != nil {
			return host, nil, fmt.Errorf("a result of worker %s cannot be read: %w", f.Worker, err)
		}
		out = append(out, r)
	}
	return host, out, nil
}

// journal is that of a machine.
func (s *sender) journal(h cell.Host) (*journal.Writer, error) {
	if j := s.journals[h.ID]; j != nil {
		return j, nil
	}
	j, err := journal.Create(s.Dir, of(s.Header, h, len(s.journals)))
	if err == nil {
		s.journals[h.ID] = j
	}
	return j, err
}

// of is the header of a machine's results, the first of which is 0.
func of(head journal.Header, h cell.Host, n int) journal.Header {
	head.Host, head.Plan, head.Imported = h, nil, true
	if n > 0 {
		head.Run.ID += "-" + strconv.Itoa(n+1)
	}
	return head
}

// tell says once what nobody can run, and counts the tasks that nobody is waited for with.
func (s *sender) tell(stranded []fleet.Stranded) int {
	n := 0
	for _, x := range stranded {
		if x.Awaits == "" {
			n += x.Tasks
		}
		if text := fmt.Sprintf("%d of the cells wait: %s", x.Tasks, x.Missing); !s.told[x.Missing] {
			s.told[x.Missing] = true
			_ = s.on.Hear(progress.Note(text))
		}
	}
	return n
}

// strand has a verdict for what nobody can run. It is journaled nowhere: it is
// about no machine.
func (s *sender) strand(stranded []fleet.Stranded) {
	s.given = true
	why := map[string]string{}
	for _, x := range stranded {
		why[x.Lane] = x.Missing
	}
	for _, t := range s.tasks {
		r := cell.Result{
			Cell: t.Cell, Asked: t.Cell.Hash, Verdict: cell.Unavailable, Evidence: cell.None, Note: why[t.Lane()], Timing: t.How.Timing,
			Requested: cell.SettingsOf(t.Cell), Outputs: []cell.Output{}, StartedAt: time.Now().UTC(),
		}
		s.results = append(s.results, r)
		_ = s.on.Hear(progress.Finished(r))
	}
}

// doubt says which results came from a machine that was found unhealthy later.
func (s *sender) doubt(keys []string) { doubt(s.on, keys) }

func doubt(on progress.Listener, keys []string) {
	if len(keys) > 0 {
		_ = on.Hear(progress.Note(fmt.Sprintf("%d of the results came from a worker that failed its health check later: run those cells again (assay fleet tasks lists them)", len(keys))))
	}
}

// cancel lets the fleet drop what is left.
func (s *sender) cancel(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer done()
	_, _ = s.Office.Steer(ctx, fleet.Steering{Do: fleet.KindCancel, Name: s.id})
}
