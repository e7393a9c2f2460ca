package fleet

import (
	"slices"
	"time"
)

// Ref is where the ledger holds an event.
type Ref struct {
	Offset int64
	Bytes  int
}

// Board is what all events add up to. It is not safe for concurrent use, and
// what its methods return is part of it: to be read, not changed.
//
// Methods that decide (Begin, Finish, Lose, …) change nothing: they return events,
// which the caller writes down and applies.
type Board struct {
	works   map[string]*Work
	sweeps  map[string]*Course
	members map[string]*Member
	order   []string // of sweeps, as they came
	Tally   Tally
}

// Tally counts what has happened since the ledger began.
type Tally struct {
	Attempts, Accepted, Failed, Late, Lost, Dead int
	Copies                                       int // of the attempts, those beside another one
}

// Course is a sweep and how far it is.
type Course struct {
	Sweep
	Keys      []string
	Answers   []Ref // events with the final results of its tasks, as they came
	Cancelled bool
	Paused    bool
	again     int // tasks that were queued again after they had their answer
}

// Left is how many of the sweep's tasks have no answer yet.
func (c *Course) Left() int {
	if c.Cancelled {
		return 0
	}
	return max(c.Tasks, len(c.Keys)) + c.again - len(c.Answers)
}

// Member is a worker as the ledger knows it.
type Member struct {
	Announcement
	Draining    bool
	Quarantined string    // why; "" is not
	Good        time.Time // when it last passed its health check
	// Since are the tasks whose answers were accepted from it since then.
	Since []string
	past  []string // its incarnations before this one
}

// mostPast is how many former incarnations of a worker are remembered.
const mostPast = 100

// Was reports whether an incarnation of the worker has another one in its place.
func (m *Member) Was(incarnation string) bool { return slices.Contains(m.past, incarnation) }

// Open reports whether the worker gets tasks.
func (m *Member) Open() bool { return !m.Draining && m.Quarantined == "" }

// NewBoard returns one on which nothing has happened.
func NewBoard() *Board {
	return &Board{works: map[string]*Work{}, sweeps: map[string]*Course{}, members: map[string]*Member{}}
}

// Work is the task with a key; nil is none.
func (b *Board) Work(key string) *Work { return b.works[key] }

// Works calls back with every task, in no order.
func (b *Board) Works(yield func(*Work) bool) {
	for _, w := range b.works {
		if !yield(w) {
			return
		}
	}
}

// Sweep is the one with an id; nil is none.
func (b *Board) Sweep(id string) *Course { return b.sweeps[id] }

// Sweeps are all of them, as they came.
func (b *Board) Sweeps() []*Course {
	out := make([]*Course, len(b.order))
	for i, id := range b.order {
		out[i] = b.sweeps[id]
	}
	return out
}

// Member is the worker with a name; nil is none.
func (b *Board) Member(name string) *Member { return b.members[name] }

// Members are all workers that ever joined, in no order.
func (b *Board) Members() []*Member {
	out := make([]*Member, 0, len(b.members))
	for _, m := range b.members {
		out = append(out, m)
	}
	return out
}

// Apply takes an event in, which lies in the ledger at a place.
func (b *Board) Apply(e Event, at Ref) {
	switch e.Kind {
	case KindSweep:
		if e.Sweep != nil && b.sweeps[e.Sweep.ID] == nil {
			b.sweeps[e.Sweep.ID] = &Course{Sweep: *e.Sweep}
			b.order = append(b.order, e.Sweep.ID)
		}
	case KindTask:
		b.task(*e.Task)
	case KindJoined:
		b.join(e.Key, e.Name)
	case KindCancel, KindPause, KindResume:
		b.steer(e)
	case KindWorker, KindDrain, KindUndrain, KindBan, KindUnban, KindHealthy:
		b.member(e)
	default:
		if w := b.works[e.Key]; w != nil {
			b.happen(w, e, at)
		}
	}
}

func (b *Board) task(t Task) {
	w := b.works[t.Key]
	if w == nil {
		w = &Work{}
		b.works[t.Key] = w
	} else {
		w.Rounds++
	}
	w.Task, w.State, w.Vain, w.Suspect, w.first = t, Queued, 0, "", len(w.Attempts)
	w.Sweeps = nil
	b.join(t.Key, t.Sweep)
}

func (b *Board) join(key, sweep string) {
	c, w := b.sweeps[sweep], b.works[key]
	if c == nil || w == nil || slices.Contains(w.Sweeps, sweep) {
		return
	}
	w.Sweeps = append(w.Sweeps, sweep)
	c.Keys = append(c.Keys, key)
	b.hold(w)
}

// hold keeps a task back that nobody has, as long as all sweeps that wait for it are paused.
func (b *Board) hold(w *Work) {
	if w.State != Queued && w.State != Paused || len(w.Sweeps) == 0 {
		return
	}
	w.State = Paused
	for _, id := range w.Sweeps {
		if c := b.sweeps[id]; c == nil || !c.Paused {
			w.State = Queued
		}
	}
}

// happen takes in what happened to a task.
func (b *Board) happen(w *Work, e Event, at Ref) {
	switch e.Kind {
	case KindBegan:
		if e.Attempt.Copy {
			b.Tally.Copies++
		} else {
			w.close(EndSuperseded, e.At)
		}
		w.Attempts = append(w.Attempts, *e.Attempt)
		w.State = Leased
		b.Tally.Attempts++
	case KindLost:
		b.Tally.Lost++
		b.end(w, e, EndLost)
	case KindSurvived:
		if a := w.attempt(e.Attempt.N); a != nil && a.End == EndLost {
			a.End = EndSurvived
		}
	case KindFailed:
		b.Tally.Failed++
		b.end(w, e, EndFailed)
	case KindLate:
		b.Tally.Late++
		if a := w.attempt(e.Attempt.N); a != nil {
			a.Late = true
		}
	case KindAccepted:
		b.Tally.Accepted++
		b.end(w, e, EndAccepted)
		w.close(EndOvertaken, e.At)
		b.answer(w, at, Done)
		if m := b.members[e.Attempt.Worker]; m != nil {
			m.Since = append(m.Since, w.Key)
		}
	case KindDead:
		b.Tally.Dead++
		w.close(EndOvertaken, e.At)
		b.answer(w, at, Dead)
	case KindSuspect:
		w.Suspect = e.Why
	case KindRequeue:
		w.Vain++
		if w.State.Ended() {
			w.Vain, w.first, w.Suspect = 0, len(w.Attempts), ""
			b.ask(w)
		}
		w.State = Queued
		b.hold(w)
	}
}

// ask has the sweep of a task that ended wait for it once more.
func (b *Board) ask(w *Work) {
	if c := b.sweeps[w.Sweep]; c != nil && !c.Cancelled {
		w.Sweeps = []string{c.ID}
		c.again++
	}
}

// end ends an attempt. Where it was the last one under way the task is free again.
func (b *Board) end(w *Work, e Event, how End) {
	a := w.attempt(e.Attempt.N)
	if a == nil {
		return
	}
	a.End, a.Ended, a.Why = how, e.At, e.Why
	if w.State.UnderWay() && len(w.Open()) == 0 {
		w.State = Queued
		b.hold(w)
	}
}

// answer gives a task's final results to all sweeps that wait for it.
func (b *Board) answer(w *Work, at Ref, state State) {
	for _, id := range w.Sweeps {
		if c := b.sweeps[id]; c != nil && !c.Cancelled {
			c.Answers = append(c.Answers, at)
		}
	}
	w.State, w.Sweeps = state, nil
}

// steer takes in what a person wants of a sweep.
func (b *Board) steer(e Event) {
	c := b.sweeps[e.Name]
	if c == nil {
		return
	}
	c.Cancelled = c.Cancelled || e.Kind == KindCancel
	c.Paused = e.Kind == KindPause
	for _, key := range c.Keys {
		w := b.works[key]
		if !slices.Contains(w.Sweeps, c.ID) {
			continue // it has its answer
		}
		if e.Kind == KindCancel {
			w.Sweeps = slices.DeleteFunc(w.Sweeps, func(id string) bool { return id == c.ID })
			if len(w.Sweeps) == 0 && !w.State.Ended() {
				w.close(EndCancelled, e.At)
				w.State = Cancelled
			}
		}
		b.hold(w)
	}
}

func (b *Board) member(e Event) {
	if e.Kind == KindWorker {
		m := b.members[e.Worker.Worker]
		if m == nil {
			m = &Member{}
			b.members[e.Worker.Worker] = m
		}
		if old := m.Incarnation; old != "" && old != e.Worker.Incarnation {
			m.past = append(m.past, old)
			m.past = m.past[max(0, len(m.past)-mostPast):]
		}
		m.Announcement = *e.Worker
		return
	}
	m := b.members[e.Name]
	if m == nil {
		return
	}
	switch e.Kind {
	case KindDrain:
		m.Draining = true
	case KindUndrain:
		m.Draining = false
	case KindBan:
		m.Quarantined = e.Why
	case KindUnban:
		m.Quarantined = ""
	case KindHealthy:
		m.Good, m.Since = e.At, nil
	}
}
