package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
)

// Hello takes a worker in. Of a worker that was started again the attempts of
// the process before are lost at once.
func (x *Coordinator) Hello(ctx context.Context, a fleet.Announcement) (fleet.Orders, error) {
	if err := a.Check(); err != nil {
		return fleet.Orders{}, err
	}
	x.mu.Lock()
	m, p := x.board.Member(a.Worker), x.present[a.Worker]
	if p != nil && p.incarnation != a.Incarnation && x.alive(a.Worker) && len(p.running) > 0 && m != nil && m.Where != a.Where {
		x.mu.Unlock()
		return fleet.Orders{}, fmt.Errorf("a worker called %s is here already, on another machine: choose another name with --name", a.Worker)
	}
	if m != nil && m.Was(a.Incarnation) {
		x.mu.Unlock()
		return fleet.Orders{}, fmt.Errorf("another worker called %s was started after this one: give each a name of its own with --name", a.Worker)
	}
	var err error
	if m == nil || m.Incarnation != a.Incarnation || !reflect.DeepEqual(m.Offers, a.Offers) {
		err = x.commit(fleet.Event{Kind: fleet.KindWorker, At: x.c.Now(), Worker: &a})
	}
	if p == nil || p.incarnation != a.Incarnation {
		x.present[a.Worker] = &presence{incarnation: a.Incarnation}
		x.stopped(a.Worker, nil)
		x.orphan(a)
	}
	p = x.present[a.Worker]
	p.seen, p.left, p.skew = x.c.Now(), false, a.Now.Sub(x.c.Now())
	x.judgeLanes(x.c.Now())
	x.awake()
	o := x.orders(a.Worker)
	x.mu.Unlock()
	if err != nil {
		return o, err
	}
	return o, x.ledger.Wait(ctx)
}

// orphan loses the attempts of a worker's earlier process.
func (x *Coordinator) orphan(a fleet.Announcement) {
	for _, s := range slices.Collect(maps.Keys(x.heard)) {
		w := x.board.Work(s.key)
		if at := w.By(a.Worker); s.worker == a.Worker && at != nil && at.Incarnation != a.Incarnation {
			x.lose(w, at.N, fmt.Sprintf("worker %s was started again", a.Worker))
		}
	}
}

// Beat hears a worker.
func (x *Coordinator) Beat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	x.mu.Lock()
	p := x.present[b.Worker]
	if p == nil || p.incarnation != b.Incarnation {
		x.mu.Unlock()
		return fleet.Orders{Unknown: true, Lease: x.c.Lease}, nil
	}
	now := x.c.Now()
	if b.Leaving {
		err := x.leave(b.Worker, p)
		x.mu.Unlock()
		return fleet.Orders{Lease: x.c.Lease}, errors.Join(err, x.ledger.Wait(ctx))
	}
	back := now.Sub(p.seen) >= x.c.Lease
	p.seen, p.running, p.skew = now, b.Running, b.Now.Sub(now)
	if back {
		x.judgeLanes(now)
		x.awake()
	}
	var events []fleet.Event
	var stop []fleet.Activity
	for _, r := range b.Running {
		w := x.board.Work(r.Key)
		if w == nil {
			stop = append(stop, r)
			continue
		}
		switch a := w.By(b.Worker); {
		case a != nil && a.N == r.Attempt:
			x.heard[spot{r.Key, b.Worker}] = now
			a.Phase = r.Phase
			if w.State == fleet.Leased && r.Phase != "" {
				w.State = fleet.Running
			}
		default:
			stop = append(stop, r)
			events = append(events, survived(w, r, now)...)
		}
	}
	x.stopped(b.Worker, b.Running)
	err := x.commit(events...)
	o := x.orders(b.Worker)
	o.Stop = stop
	x.mu.Unlock()
	if err != nil || len(events) == 0 {
		return o, err
	}
	return o, x.ledger.Wait(ctx)
}

// leave has a worker be gone that said goodbye: nobody waits for it, and what it could not give back runs elsewhere.
func (x *Coordinator) leave(worker string, p *presence) error {
	p.left, p.running = true, nil
	x.stopped(worker, nil)
	var failed []error
	for _, s := range slices.Collect(maps.Keys(x.heard)) {
		w := x.board.Work(s.key)
		if a := w.By(worker); s.worker == worker && a != nil {
			failed = append(failed, x.commit(x.board.Drop(w, a.N, "its worker was stopped", x.c.Now())...))
		}
	}
	x.judgeLanes(x.c.Now())
	x.awake()
	return errors.Join(failed...)
}

// survived is that a cell did not kill the worker that it was lost with.
func survived(w *fleet.Work, r fleet.Activity, now time.Time) []fleet.Event {
	for _, a := range w.Attempts {
		if a.N == r.Attempt && a.End == fleet.EndLost {
			return []fleet.Event{{Kind: fleet.KindSurvived, At: now, Key: w.Key, Attempt: &fleet.Attempt{N: a.N, Worker: a.Worker}}}
		}
	}
	return nil
}

// orders are what a worker should do.
func (x *Coordinator) orders(worker string) fleet.Orders {
	m, p := x.board.Member(worker), x.present[worker]
	o := fleet.Orders{Lease: x.c.Lease, Draining: m.Draining, Quarantined: m.Quarantined}
	if x.c.CheckEvery > 0 {
		o.Check = p.checked.IsZero() || x.c.Now().Sub(p.checked) >= x.c.CheckEvery
	}
	if !m.Open() || o.Check && p.checked.IsZero() {
		return o // nothing before it has shown that it is healthy
	}
	o.Lanes = []string{fleet.LaneOf(worker)}
	return o
}

// Begin grants an attempt, or says what else to do with the task.
func (x *Coordinator) Begin(ctx context.Context, b fleet.Beginning) (fleet.Grant, error) {
	x.mu.Lock()
	m, p := x.board.Member(b.Worker), x.present[b.Worker]
	if m == nil || p == nil || p.incarnation != b.Incarnation {
		x.mu.Unlock()
		return fleet.Grant{Wait: x.c.Lease / 10, Pause: true, Why: "say hello first"}, nil
	}
	p.seen = x.c.Now()
	g, events := x.board.Begin(b.Key, m.Announcement, x.view())
	if g.Wait > 0 {
		x.bounced[b.Key] = true
	}
	err := x.commit(events...)
	x.mu.Unlock()
	if err != nil {
		return fleet.Grant{}, err
	}
	return g, x.ledger.Wait(ctx)
}

// view is what the board does not know.
func (x *Coordinator) view() fleet.View {
	now := x.c.Now()
	return fleet.View{
		Now: now, Lease: x.c.Lease,
		Alive: func(w *fleet.Work, a *fleet.Attempt) bool {
			if p := x.present[a.Worker]; p != nil && p.incarnation != a.Incarnation {
				return false
			}
			return now.Sub(x.heard[spot{w.Key, a.Worker}]) < x.c.Lease
		},
		There: x.there,
		Others: func(w *fleet.Work, not []string) bool {
			return slices.ContainsFunc(x.board.Members(), func(m *fleet.Member) bool {
				if slices.Contains(not, m.Worker) || !m.Open() || !x.alive(m.Worker) {
					return false
				}
				fit, _ := m.Suits(w.Task)
				return fit != fleet.Unfit && fit == x.lane(w.Task).fit
			})
		},
		Copies: func(w *fleet.Work, worker string) bool {
			d := x.dealt[w.Key][worker]
			return d != nil && d.copy && !d.begun
		},
		Busy: x.busy,
	}
}

// there reports whether the process that was granted an attempt is heard.
func (x *Coordinator) there(a *fleet.Attempt) bool {
	p := x.present[a.Worker]
	return p != nil && p.incarnation == a.Incarnation && x.alive(a.Worker)
}

// busy says why a worker should leave a task for now: the machine times another one.
func (x *Coordinator) busy(w *fleet.Work, worker string) fleet.Grant {
	if !w.Timed() {
		return fleet.Grant{}
	}
	m := x.board.Member(worker)
	for s := range x.heard {
		other := x.board.Work(s.key)
		if other.By(s.worker) == nil || s.key == w.Key && s.worker == worker || !other.Timed() {
			continue
		}
		if by := x.board.Member(s.worker); by != nil && by.Where == m.Where {
			return fleet.Grant{Wait: min(time.Second, x.c.Lease/10), Pause: true, Why: "a timed task runs on this machine"}
		}
	}
	return fleet.Grant{}
}

// gist is what the coordinator reads of a result.
type gist struct {
	Cell    struct{ Hash string }
	Asked   string
	Verdict cell.Verdict
	Failure *struct {
		Class  cell.FailureClass
		Detail string
	}
}

// last reads the final one of an answer's results, and refuses what is not of
// the task's cell.
func last(results []json.RawMessage, of string) (*cell.Result, error) {
	var out *cell.Result
	for _, body := range results {
		var g gist
		if err := json.Unmarshal(body, &g); err != nil {
			return nil, fmt.Errorf("a result cannot be read: %w", err)
		}
		if g.Cell.Hash != of && g.Asked != of {
			return nil, errors.New("a result is not of the task's cell")
		}
		r := cell.Result{Verdict: g.Verdict}
		if g.Failure != nil {
			r.Failure = &cell.Failure{Class: g.Failure.Class, Detail: g.Failure.Detail}
		}
		if err := r.Known(); err != nil && g.Verdict == "" {
			return nil, err
		}
		out = &r
	}
	return out, nil
}

// Finish takes an answer in.
func (x *Coordinator) Finish(ctx context.Context, a fleet.Answer) (fleet.Outcome, error) {
	hash := a.Key
	if len(hash) > 16 {
		hash = hash[:16] // a key begins with the cell's hash
	}
	final, err := last(a.Results, hash)
	if err != nil {
		final, a.Results, a.Error = nil, nil, err.Error()
	}
	x.mu.Lock()
	p := x.present[a.Worker]
	if p != nil && p.incarnation == a.Incarnation {
		p.seen = x.c.Now()
		a.Results = onTime(a.Results, p.skew)
	}
	o, events := x.board.Finish(a, final, x.view())
	w := x.board.Work(a.Key)
	if m := x.board.Member(a.Worker); o == fleet.Accepted && m != nil && m.Quarantined != "" { // it was on its way when that was found out
		events = append(events, fleet.Event{Kind: fleet.KindSuspect, At: x.c.Now(), Key: a.Key, Name: a.Worker, Why: fmt.Sprintf("worker %s was quarantined before its answer came", a.Worker)})
	}
	if err := x.commit(events...); err != nil {
		x.mu.Unlock()
		return "", err
	}
	if p != nil && p.incarnation == a.Incarnation && p.note(a, o) {
		x.muster, x.news = true, true
		x.awake()
	}
	if o == fleet.Accepted {
		if at := attempt(w, a.Attempt); at != nil {
			x.place.Learn(w.Task, a.Worker, x.c.Now().Sub(at.Began))
		}
	}
	x.mu.Unlock()
	if o == fleet.Late {
		x.mu.Lock()
		x.stop(spot{a.Key, a.Worker})
		x.mu.Unlock()
		x.c.Log.Info("a late answer is kept as evidence", "task", a.Key, "attempt", a.Attempt, "worker", a.Worker)
	}
	return o, x.ledger.Wait(ctx)
}

// mostVain is how many answers in a row may be tried elsewhere before their worker has to show that it is healthy.
const mostVain = 5

// note takes in what became of an answer, and reports whether a health check is due before the worker runs anything else.
func (p *presence) note(a fleet.Answer, o fleet.Outcome) (doubted bool) {
	switch {
	case o == fleet.Accepted:
		p.accepted++
		p.vain = 0
	case o == fleet.Retried && !a.Stopped:
		p.vain++
	}
	if p.vain < mostVain {
		return false
	}
	p.vain, p.checked = 0, time.Time{}
	return true
}

func attempt(w *fleet.Work, n int) *fleet.Attempt {
	for i := range w.Attempts {
		if w.Attempts[i].N == n {
			return &w.Attempts[i]
		}
	}
	return nil
}

// skewed is how far a worker's clock may be off before its times are corrected.
const skewed = 5 * time.Second

// onTime corrects when results say that they were begun, for a worker whose
// clock is off: results are ordered by it.
func onTime(results []json.RawMessage, skew time.Duration) []json.RawMessage {
	if skew.Abs() < skewed {
		return results
	}
	out := make([]json.RawMessage, len(results))
	for i, body := range results {
		out[i] = body
		var fields map[string]json.RawMessage
		var at time.Time
		if json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields["started_at"], &at) != nil {
			continue
		}
		fixed, err := json.Marshal(at.Add(-skew))
		if err != nil {
			continue
		}
		fields["started_at"] = fixed
		if b, err := json.Marshal(fields); err == nil {
			out[i] = b
		}
	}
	return out
}

// Health takes in how a health check went. What was accepted from a worker that
// fails it, since it last passed, is marked.
func (x *Coordinator) Health(ctx context.Context, h fleet.Health) (fleet.Orders, error) {
	x.mu.Lock()
	m, p := x.board.Member(h.Worker), x.present[h.Worker]
	if m == nil || p == nil || p.incarnation != h.Incarnation {
		x.mu.Unlock()
		return fleet.Orders{Unknown: true, Lease: x.c.Lease}, nil
	}
	now := x.c.Now()
	p.checked, p.seen = now, now
	events := []fleet.Event{{Kind: fleet.KindHealthy, At: now, Name: h.Worker, Results: h.Results}}
	if h.Wrong != "" {
		why := "it failed its health check: " + h.Wrong
		events = []fleet.Event{{Kind: fleet.KindBan, At: now, Name: h.Worker, Why: why, Results: h.Results}}
		for _, key := range m.Since {
			events = append(events, fleet.Event{Kind: fleet.KindSuspect, At: now, Key: key, Name: h.Worker, Why: fmt.Sprintf("worker %s failed its health check later", h.Worker)})
		}
		x.c.Log.Warn("a worker is quarantined", "worker", h.Worker, "why", why, "results in doubt", len(m.Since))
	}
	err := x.commit(events...)
	x.judgeLanes(now)
	o := x.orders(h.Worker)
	x.mu.Unlock()
	if err != nil {
		return o, err
	}
	return o, x.ledger.Wait(ctx)
}
