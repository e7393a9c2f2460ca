package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
)

// Submit takes a part of a sweep in.
func (x *Coordinator) Submit(ctx context.Context, s fleet.Submission) (fleet.Sweep, error) {
	if err := fleet.CheckName(s.Sweep.ID); err != nil {
		return fleet.Sweep{}, fmt.Errorf("the sweep's id: %w", err)
	}
	tasks := make([]fleet.Task, len(s.Tasks))
	for i, t := range s.Tasks {
		if err := check(t); err != nil {
			return fleet.Sweep{}, fmt.Errorf("task %d: %w", i+1, err)
		}
		fresh := fleet.NewTask(t.Cell, t.How, t.Needs) // nothing is believed that can be derived
		fresh.Priority = t.Priority
		tasks[i] = fresh
	}
	if err := x.ledger.Problem(); err != nil {
		return fleet.Sweep{}, fmt.Errorf("the coordinator's ledger cannot be written, so it takes no sweeps: %w", err)
	}
	x.mu.Lock()
	sweep := s.Sweep
	var events []fleet.Event
	if x.board.Sweep(sweep.ID) == nil {
		sweep.At = x.c.Now()
		events = append(events, fleet.Event{Kind: fleet.KindSweep, At: sweep.At, Sweep: &sweep})
	}
	err := x.commit(events...)
	if err == nil {
		err = x.commit(x.board.Add(sweep.ID, x.unknown(sweep.ID, tasks), x.c.Now())...)
	}
	x.mu.Unlock()
	if err != nil {
		return sweep, err
	}
	return sweep, x.ledger.Wait(ctx)
}

// unknown are the tasks that a sweep does not have yet: a part may be sent twice.
func (x *Coordinator) unknown(sweep string, tasks []fleet.Task) []fleet.Task {
	c := x.board.Sweep(sweep)
	if len(c.Keys) == 0 {
		return tasks
	}
	has := map[string]bool{}
	for _, key := range c.Keys {
		has[key] = true
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(t fleet.Task) bool { return has[t.Key] })
}

// check refuses what no worker should ever see.
func check(t fleet.Task) error {
	if paths := t.Cell.LocalPaths(); len(paths) > 0 {
		return fmt.Errorf("%s is on the machine that asks for it, and a cell that names it goes nowhere else", paths[0])
	}
	p := t.Plan()
	p, err := p.Normal()
	if err == nil && len(p.Cells) != 1 {
		err = errors.New("it has no cell")
	}
	return err
}

// pageBytes is about how many bytes of results one page holds.
const pageBytes = 600 << 10

// gather is how long a page waits for more answers once it has one.
const gather = 50 * time.Millisecond

// Answers gives a sweep's answers.
func (x *Coordinator) Answers(ctx context.Context, q fleet.Question) (fleet.Page, error) {
	until := time.Now().Add(min(q.Wait, 30*time.Second))
	for {
		x.mu.Lock()
		c := x.board.Sweep(q.Sweep)
		if c == nil {
			x.mu.Unlock()
			return fleet.Page{}, fmt.Errorf("no sweep %q is known here (see assay fleet status)", q.Sweep)
		}
		stranded := x.stranded(q.Sweep)
		waits := len(c.Answers) <= q.After && c.Left() > 0 && len(stranded) == 0
		changed := x.changed
		x.mu.Unlock()
		left := time.Until(until)
		if !waits || left <= 0 {
			break
		}
		timer := time.NewTimer(min(left, time.Second)) // to look for what is stranded
		select {
		case <-ctx.Done():
			timer.Stop()
			return fleet.Page{}, context.Cause(ctx)
		case <-changed:
			timer.Stop()
			time.Sleep(min(left, gather))
		case <-timer.C:
		}
	}
	return x.page(ctx, q)
}

func (x *Coordinator) page(ctx context.Context, q fleet.Question) (fleet.Page, error) {
	x.mu.Lock()
	c := x.board.Sweep(q.Sweep)
	refs := slices.Clone(c.Answers[min(max(0, q.After), len(c.Answers)):])
	page := fleet.Page{Left: c.Left(), Cancelled: c.Cancelled, Stranded: x.stranded(q.Sweep), Answers: []fleet.Final{}}
	for s := range x.heard {
		if slices.Contains(x.board.Work(s.key).Sweeps, q.Sweep) {
			page.UnderWay++
		}
	}
	if page.Left == 0 {
		for _, key := range c.Keys {
			if x.board.Work(key).Suspect != "" {
				page.Suspect = append(page.Suspect, key)
			}
		}
	}
	x.mu.Unlock()
	if err := x.ledger.Wait(ctx); err != nil {
		return page, err
	}
	for size := 0; len(refs) > 0 && (size == 0 || size+refs[0].Bytes <= pageBytes); refs = refs[1:] {
		e, err := x.ledger.Read(refs[0])
		if err != nil {
			return page, err
		}
		size += refs[0].Bytes
		f := fleet.Final{Key: e.Key, Host: e.Host, Results: e.Results, Why: e.Why}
		if e.Attempt != nil {
			f.Attempt, f.Worker = e.Attempt.N, e.Attempt.Worker
		}
		page.Answers = append(page.Answers, f)
	}
	page.Left += len(refs) // they have answers, which are on the next page
	return page, nil
}

// Status is the fleet now.
func (x *Coordinator) Status(context.Context) (fleet.Status, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := fleet.Status{
		Schema: cell.Schema, At: x.c.Now(), Version: x.c.Version, Workers: []fleet.WorkerStatus{}, Sweeps: []fleet.SweepStatus{}, Lanes: []fleet.LaneStatus{},
		Tasks: map[fleet.State]int{}, Tally: x.board.Tally, Stranded: x.stranded(""), LedgerBytes: x.ledger.Size(),
	}
	if err := x.ledger.Problem(); err != nil {
		s.Problem = "the ledger cannot be written: " + err.Error()
	}
	for w := range x.board.Works {
		s.Tasks[w.State]++
	}
	for _, c := range x.board.Sweeps() {
		s.Sweeps = append(s.Sweeps, fleet.SweepStatus{Sweep: c.Sweep, Answered: len(c.Answers), Left: c.Left(), Cancelled: c.Cancelled, Paused: c.Paused})
	}
	for _, name := range slices.Sorted(maps.Keys(x.lanes)) {
		l := x.lanes[name]
		ls := fleet.LaneStatus{Lane: name, Workers: len(l.able)}
		for key := range l.keys {
			switch state := x.board.Work(key).State; {
			case state.UnderWay():
				ls.UnderWay++
			case state == fleet.Queued:
				ls.Queued++
			}
		}
		s.Lanes = append(s.Lanes, ls)
	}
	for _, m := range x.board.Members() {
		s.Workers = append(s.Workers, x.worker(m))
	}
	slices.SortFunc(s.Workers, func(a, b fleet.WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

func (x *Coordinator) worker(m *fleet.Member) fleet.WorkerStatus {
	s := fleet.WorkerStatus{
		Name: m.Worker, Version: m.Version, Host: m.Host, Offers: m.Offers, Labels: m.Labels, Slots: m.Slots,
		Alive: x.alive(m.Worker), Draining: m.Draining, Quarantined: m.Quarantined, Healthy: m.Good,
	}
	p := x.present[m.Worker]
	if p == nil {
		return s
	}
	s.Seen, s.SkewS, s.Accepted = p.seen, p.skew.Round(time.Millisecond).Seconds(), p.accepted
	for _, r := range p.running {
		if w := x.board.Work(r.Key); w != nil && w.By(m.Worker) != nil {
			r.Model, r.Target, r.Began = w.Cell.Model(), w.Cell.Target, w.By(m.Worker).Began
		}
		s.Running = append(s.Running, r)
	}
	return s
}

// mostTasks is how many tasks are listed where nobody says.
const mostTasks = 1000

// Tasks lists tasks, the oldest first.
func (x *Coordinator) Tasks(_ context.Context, q fleet.TaskQuestion) ([]fleet.TaskStatus, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := []fleet.TaskStatus{}
	add := func(w *fleet.Work) {
		if q.State == "" || w.State == q.State {
			out = append(out, fleet.TaskStatus{Key: w.Key, Cell: w.Cell, Lane: w.Lane(), State: w.State, Sweeps: w.Sweeps, Queued: w.Queued, Attempts: slices.Clone(w.Attempts), Suspect: w.Suspect})
		}
	}
	if q.Sweep != "" {
		c := x.board.Sweep(q.Sweep)
		if c == nil {
			return nil, fmt.Errorf("no sweep %q is known here (see assay fleet status)", q.Sweep)
		}
		for _, key := range c.Keys {
			add(x.board.Work(key))
		}
	} else {
		for w := range x.board.Works {
			add(w)
		}
		slices.SortFunc(out, func(a, b fleet.TaskStatus) int {
			return cmp.Or(a.Queued.Compare(b.Queued), cmp.Compare(a.Key, b.Key))
		})
	}
	return out[:min(len(out), cmp.Or(max(0, q.Most), mostTasks))], nil
}

// Steer does what a person wants.
func (x *Coordinator) Steer(ctx context.Context, s fleet.Steering) (string, error) {
	x.mu.Lock()
	done, events, err := x.steering(s)
	if err == nil {
		err = x.commit(events...)
	}
	if err == nil {
		x.steered(s)
	}
	x.mu.Unlock()
	if err != nil {
		return "", err
	}
	return done, x.ledger.Wait(ctx)
}

func (x *Coordinator) steering(s fleet.Steering) (string, []fleet.Event, error) {
	e := fleet.Event{Kind: s.Do, At: x.c.Now(), Name: s.Name, Why: s.Why}
	switch s.Do {
	case fleet.KindCancel, fleet.KindPause, fleet.KindResume:
		c := x.board.Sweep(s.Name)
		if c == nil {
			return "", nil, fmt.Errorf("no sweep %q is known here (see assay fleet status)", s.Name)
		}
		if c.Left() == 0 && !c.Cancelled {
			return "", nil, fmt.Errorf("sweep %s is over: all of its cells have their answers (assay fleet results %s)", s.Name, s.Name)
		}
		return fmt.Sprintf("%s of sweep %s: %d of %d tasks have no answer yet", s.Do, s.Name, c.Left(), c.Tasks), []fleet.Event{e}, nil
	case fleet.KindRequeue:
		w := x.board.Work(s.Name)
		if w == nil {
			return "", nil, fmt.Errorf("no task %q is known here (see assay fleet tasks)", s.Name)
		}
		if !w.State.Ended() {
			return "", nil, fmt.Errorf("task %s is %s: only one that has ended can be queued again", s.Name, w.State)
		}
		e.Key, e.Name = s.Name, ""
		return fmt.Sprintf("task %s is queued again", s.Name), []fleet.Event{e}, nil
	case fleet.KindDrain, fleet.KindUndrain, fleet.KindBan, fleet.KindUnban:
		if x.board.Member(s.Name) == nil {
			return "", nil, fmt.Errorf("no worker %q is known here (see assay fleet workers)", s.Name)
		}
		if s.Do == fleet.KindBan {
			e.Why = cmp.Or(s.Why, "by order")
		}
		return fmt.Sprintf("%s of worker %s", s.Do, s.Name), []fleet.Event{e}, nil
	}
	return "", nil, fmt.Errorf("unknown order %q", s.Do)
}

// steered brings the queue and the workers in line with what was ordered.
func (x *Coordinator) steered(s fleet.Steering) {
	if c := x.board.Sweep(s.Name); c != nil {
		for _, key := range c.Keys {
			w := x.board.Work(key)
			if w.State == fleet.Done || w.State == fleet.Dead {
				continue
			}
			switch {
			case w.State == fleet.Cancelled:
				x.settle(w, "")
			case w.State == fleet.Paused:
				x.undealAll(w)
				x.place.Remove(key)
			case w.State == fleet.Queued && len(x.dealt[key]) == 0 && s.Do == fleet.KindResume:
				x.offer(w)
			}
		}
		close(x.changed)
		x.changed = make(chan struct{})
	}
	if m := x.board.Member(s.Name); m != nil && s.Do == fleet.KindUnban {
		if p := x.present[s.Name]; p != nil {
			p.checked = time.Time{}
		}
	}
	x.judgeLanes(x.c.Now())
	x.news = true
	x.awake()
}
