package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/failure"
)

// mostRuns is how often a task is tried that fails for the machine's sake.
const mostRuns = 3

// mostKilled is how many workers a cell may take with it.
const mostKilled = 2

// mostVain is how often a task may be queued anew because nobody began it.
const mostVain = 3

// Grant is the board's answer to a worker that has fetched a task.
type Grant struct {
	Run     bool          `json:"run,omitempty"`     // go on, with Attempt
	Attempt int           `json:"attempt,omitempty"` // its number
	Wait    time.Duration `json:"wait,omitempty"`    // give the task back for so long
	Pause   bool          `json:"pause,omitempty"`   // and fetch no other one until then
	Why     string        `json:"why,omitempty"`
	// Neither Run nor Wait: the task is over, take it out of the queue.
}

// View is what the caller knows beside the ledger.
type View struct {
	Now   time.Time
	Lease time.Duration
	// Alive reports whether the worker of an attempt was heard within its lease.
	Alive func(w *Work, a *Attempt) bool
	// There reports whether the worker of an attempt is heard, whatever it is at; nil is no.
	There func(a *Attempt) bool
	// Copies reports whether a worker should try a task beside the one that does; nil is no.
	Copies func(w *Work, worker string) bool
	// Others reports whether another worker that suits the task, and is not one of
	// those to avoid, is there now.
	Others func(w *Work, not []string) bool
	// Busy says why the worker should not begin the task now; a grant without a wait
	// is no reason.
	Busy func(w *Work, worker string) Grant
}

// Begin decides whether a worker that has fetched a task may run it.
func (b *Board) Begin(key string, by Announcement, v View) (Grant, []Event) {
	w := b.works[key]
	if w == nil || w.State.Ended() || w.State == Paused {
		return Grant{Why: "nobody waits for it"}, nil
	}
	if m := b.members[by.Worker]; m != nil && !m.Open() {
		return Grant{Wait: v.Lease / 10, Pause: true, Why: "this worker gets no tasks"}, nil
	}
	var events []Event
	open := w.Open()
	copying := v.Copies != nil && w.MayCopy(by.Worker) && v.Copies(w, by.Worker)
	for _, a := range open {
		switch {
		case v.Alive(w, a) && !copying:
			// The queue's lease ran out and the worker's did not.
			return Grant{Wait: v.Lease / 2, Why: fmt.Sprintf("worker %s is at it", a.Worker)}, nil
		case !v.Alive(w, a):
			copying = false
		}
	}
	avoid := w.Avoid()
	if len(open) > 0 && !copying {
		lost := b.Lose(w, open[0].N, "it was delivered again", v.Now)
		if v.There != nil && v.There(open[0]) {
			lost = b.Drop(w, open[0].N, "its worker is not at it", v.Now)
		}
		switch {
		case len(lost) > 1 && lost[1].Kind == KindDead: // it was the last one
			return Grant{Why: lost[1].Why}, lost
		case len(open) > 1: // the other one is lost next time
			return Grant{Wait: v.Lease / 10, Why: "its workers went silent"}, lost
		}
		events, avoid = lost, append(avoid, open[0].Worker)
	}
	if slices.Contains(avoid, by.Worker) && v.Others(w, avoid) {
		return Grant{Wait: v.Lease / 10, Why: "it is tried elsewhere first"}, events
	}
	if g := v.Busy(w, by.Worker); g.Wait > 0 {
		return g, events
	}
	a := Attempt{N: w.next(), Worker: by.Worker, Incarnation: by.Incarnation, Began: v.Now, Copy: copying}
	events = append(events, Event{Kind: KindBegan, At: v.Now, Key: key, Attempt: &a})
	return Grant{Run: true, Attempt: a.N}, events
}

// Lose decides what becomes of a task whose worker went silent.
func (b *Board) Lose(w *Work, n int, why string, now time.Time) []Event {
	a := w.attempt(n)
	if a == nil || a.End != "" {
		return nil
	}
	events := []Event{{Kind: KindLost, At: now, Key: w.Key, Attempt: &Attempt{N: n, Worker: a.Worker}, Why: why}}
	killed := append(w.killed(), a.Worker)
	if len(killed) < mostKilled {
		return events
	}
	detail := fmt.Sprintf("%d workers died while they ran it: %s", len(killed), strings.Join(killed, ", "))
	return append(events, b.dead(w, cell.Crash, detail, now))
}

// Drop decides what becomes of an attempt that its worker is not at, though it is there, or was stopped: the cell did not kill it.
func (b *Board) Drop(w *Work, n int, why string, now time.Time) []Event {
	a := w.attempt(n)
	if a == nil || a.End != "" {
		return nil
	}
	at := &Attempt{N: n, Worker: a.Worker}
	return []Event{{Kind: KindLost, At: now, Key: w.Key, Attempt: at, Why: why}, {Kind: KindSurvived, At: now, Key: w.Key, Attempt: at}}
}

// dead is the event that ends a task with a verdict of the coordinator's own.
func (b *Board) dead(w *Work, class cell.FailureClass, detail string, now time.Time) Event {
	f := failure.OfCell(class, detail, w.Cell)
	r := cell.Result{
		Cell: w.Cell, Asked: w.Cell.Hash, Verdict: cell.Fails, Evidence: cell.Measured, Timing: w.How.Timing,
		Requested: cell.SettingsOf(w.Cell), Failure: &f, Outputs: []cell.Output{}, Attempts: len(w.thisRound()), StartedAt: now,
	}
	if !class.OfModel() {
		r.Verdict, r.Evidence = cell.Unknown, cell.None
	}
	body, err := json.Marshal(r)
	if err != nil {
		panic(err) // a result always marshals
	}
	return Event{Kind: KindDead, At: now, Key: w.Key, Why: detail, Results: []json.RawMessage{body}}
}

// Answer is what a worker says about an attempt.
type Answer struct {
	Key         string            `json:"key"`
	Attempt     int               `json:"attempt"`
	Worker      string            `json:"worker"`
	Incarnation string            `json:"incarnation"`
	Results     []json.RawMessage `json:"results,omitempty"`
	Error       string            `json:"error,omitempty"`   // why there are none
	Stopped     bool              `json:"stopped,omitempty"` // the worker was stopped meanwhile, or what it runs on has gone, which says nothing about the cell
	Host        *cell.Host        `json:"host,omitempty"`    // that the results are from, where it is not the worker's own: a guest of its web lab
}

// Outcome is what became of an answer.
type Outcome string

// The outcomes.
const (
	Accepted Outcome = "accepted"
	Retried  Outcome = "retried" // it is kept, and the task is tried elsewhere: give it back
	Late     Outcome = "late"    // it is kept as evidence
	Known    Outcome = "known"   // it came before, and nothing changes
	Refused  Outcome = "refused" // that worker has no such attempt
)

// Finish decides what an answer is worth. last is the final one of its results;
// nil where there is none.
func (b *Board) Finish(x Answer, last *cell.Result, v View) (Outcome, []Event) {
	w := b.works[x.Key]
	if w == nil {
		return Refused, nil
	}
	a := w.attempt(x.Attempt)
	if a == nil || a.Worker != x.Worker || a.Incarnation != x.Incarnation {
		return Refused, nil
	}
	e := Event{At: v.Now, Key: x.Key, Attempt: &Attempt{N: a.N, Worker: a.Worker}, Results: x.Results, Why: x.Error}
	if m := b.members[x.Worker]; m != nil {
		e.Host = cmp.Or(x.Host, &m.Host)
	}
	switch {
	case a.End == EndAccepted, a.End == EndFailed:
		return Known, nil
	case a.Late: // a worker that was cut off says it as often as it tried to
		return Late, nil
	case a.End != "" && a.N != w.next()-1, w.State.Ended(), x.Attempt < w.firstNumber():
		e.Kind = KindLate
		return Late, []Event{e}
	}
	if x.Stopped {
		lost, survived := e, e
		lost.Kind, lost.Why, survived.Kind = KindLost, cmp.Or(x.Error, "its worker was stopped"), KindSurvived
		return Retried, []Event{lost, survived}
	}
	why, retry := retryable(x, last)
	avoid := append(w.Avoid(), x.Worker)
	switch {
	case retry && (besides(w, a) || w.runs()+1 < mostTries(last) && v.Others(w, avoid)):
		e.Kind, e.Why = KindFailed, why
		return Retried, []Event{e}
	case last == nil:
		e.Kind, e.Why = KindFailed, why
		return Accepted, []Event{e, b.dead(w, cell.Harness, why, v.Now)}
	}
	e.Kind = KindAccepted
	return Accepted, []Event{e}
}

// besides reports whether another attempt than this one is under way.
func besides(w *Work, a *Attempt) bool {
	return slices.ContainsFunc(w.Open(), func(o *Attempt) bool { return o != a })
}

// firstNumber is the number of this round's first attempt.
func (w *Work) firstNumber() int {
	if r := w.thisRound(); len(r) > 0 {
		return r[0].N
	}
	return w.next()
}

// elsewhere are the failures that say more about a machine than about a model.
var elsewhere = []cell.FailureClass{cell.Driver, cell.Environment, cell.Crash, cell.Harness}

// retryable says whether another machine may do better, and why.
func retryable(x Answer, last *cell.Result) (why string, retry bool) {
	switch {
	case last == nil && x.Error == "":
		return "the worker sent no result", true
	case last == nil:
		return x.Error, true
	case last.Failure != nil && slices.Contains(elsewhere, last.Failure.Class):
		return fmt.Sprintf("%s: %s", last.Failure.Class, last.Failure.Detail), true
	}
	return "", false
}

// mostTries is how often such a failure is tried: a crash that two machines see is one.
func mostTries(last *cell.Result) int {
	if last != nil && last.Failure.Class == cell.Crash {
		return mostKilled
	}
	return mostRuns
}

// Exhaust decides what becomes of a task that the queue delivers no more.
func (b *Board) Exhaust(key string, now time.Time) []Event {
	w := b.works[key]
	if w == nil || w.State != Queued {
		return nil
	}
	if w.Vain+1 >= mostVain {
		return []Event{b.dead(w, cell.Harness, "it was delivered again and again, and no worker began it", now)}
	}
	return []Event{{Kind: KindRequeue, At: now, Key: key, Why: "it was delivered as often as the queue allows, and not begun"}}
}

// Add decides what is new of the tasks that a sweep brings: one that another
// sweep waits for already is shared.
func (b *Board) Add(sweep string, tasks []Task, now time.Time) []Event {
	events := make([]Event, 0, len(tasks))
	for _, t := range tasks {
		w := b.works[t.Key]
		if w != nil && !w.State.Ended() {
			events = append(events, Event{Kind: KindJoined, At: now, Key: t.Key, Name: sweep})
			continue
		}
		t.Sweep, t.Queued = sweep, now
		events = append(events, Event{Kind: KindTask, At: now, Task: &t})
	}
	return events
}
