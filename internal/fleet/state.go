package fleet

import (
	"slices"
	"time"
)

// State is where a task is in its life.
type State string

// The states. The last three are ends.
const (
	Queued    State = "queued"
	Paused    State = "paused"  // queued, and held back by a person
	Leased    State = "leased"  // granted to a worker that has not said what it does
	Running   State = "running" // its worker says in which phase
	Done      State = "done"
	Dead      State = "dead" // dead-lettered: the verdict says why
	Cancelled State = "cancelled"
)

// States lists them in the order of a task's life.
func States() []State { return []State{Queued, Paused, Leased, Running, Done, Dead, Cancelled} }

// Ended reports whether nothing more will happen unless a person asks for it.
func (s State) Ended() bool { return s == Done || s == Dead || s == Cancelled }

// UnderWay reports whether a worker has the task.
func (s State) UnderWay() bool { return s == Leased || s == Running }

// End is how an attempt ended.
type End string

// The ends of an attempt; "" is one that is under way.
const (
	EndAccepted   End = "accepted"
	EndFailed     End = "failed"     // and was tried elsewhere
	EndLost       End = "lost"       // its worker went silent
	EndSurvived   End = "survived"   // its worker went silent and came back
	EndSuperseded End = "superseded" // the queue delivered the task to another one meanwhile
	EndCancelled  End = "cancelled"
	EndOvertaken  End = "overtaken" // another attempt at the same time gave the answer
)

// Attempt is one worker's try at a task. Its number fences: an answer counts only
// with the number of the newest attempt, or of the one that it is a copy of.
type Attempt struct {
	N           int       `json:"n"`
	Worker      string    `json:"worker"`
	Incarnation string    `json:"incarnation,omitempty"`
	Began       time.Time `json:"began"`
	Ended       time.Time `json:"ended,omitzero"`
	End         End       `json:"end,omitempty"`
	Why         string    `json:"why,omitempty"`
	Copy        bool      `json:"copy,omitempty"`  // beside the one before, not in its place
	Late        bool      `json:"late,omitempty"`  // its answer came too late, and is kept as evidence
	Phase       string    `json:"phase,omitempty"` // as the worker says; not kept in the ledger
}

// Work is a task and what has happened to it.
type Work struct {
	Task
	State    State
	Sweeps   []string // that wait for it
	Attempts []Attempt
	Rounds   int    // how often the task was asked for again after it had ended
	Vain     int    // how often the queue delivered it in vain as often as it can, this round
	Suspect  string // why its answer is in doubt: its worker failed a health check later
	first    int    // the first attempt of this round
}

// Open are the attempts under way: one, or two where one is a copy.
func (w *Work) Open() []*Attempt {
	var out []*Attempt
	for i := w.first; i < len(w.Attempts); i++ {
		if w.Attempts[i].End == "" {
			out = append(out, &w.Attempts[i])
		}
	}
	return out
}

// Current is the newest attempt under way; nil where there is none.
func (w *Work) Current() *Attempt {
	open := w.Open()
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}

// By is a worker's attempt under way; nil where there is none.
func (w *Work) By(worker string) *Attempt {
	for _, a := range w.Open() {
		if a.Worker == worker {
			return a
		}
	}
	return nil
}

// MayCopy reports whether a worker may try the task beside the one that does.
func (w *Work) MayCopy(worker string) bool {
	open := w.Open()
	return len(open) == 1 && open[0].Worker != worker && len(w.thisRound()) < mostRuns && !slices.Contains(w.Avoid(), worker)
}

// close ends all attempts under way.
func (w *Work) close(how End, at time.Time) {
	for _, a := range w.Open() {
		a.End, a.Ended = how, at
	}
}

// attempt is the one with a number.
func (w *Work) attempt(n int) *Attempt {
	if i := slices.IndexFunc(w.Attempts, func(a Attempt) bool { return a.N == n }); i >= 0 {
		return &w.Attempts[i]
	}
	return nil
}

// next is the number of the attempt after all others.
func (w *Work) next() int {
	if len(w.Attempts) == 0 {
		return 1
	}
	return w.Attempts[len(w.Attempts)-1].N + 1
}

// thisRound are the attempts since the task was last asked for.
func (w *Work) thisRound() []Attempt { return w.Attempts[min(w.first, len(w.Attempts)):] }

// killed are the workers that went silent with the task and did not come back.
func (w *Work) killed() []string {
	var out []string
	for _, a := range w.thisRound() {
		if a.End == EndLost {
			out = append(out, a.Worker)
		}
	}
	return out
}

// Avoid are the workers on which the task has failed or that it was lost with.
func (w *Work) Avoid() []string {
	var out []string
	for _, a := range w.thisRound() {
		if a.End == EndLost || a.End == EndFailed {
			out = append(out, a.Worker)
		}
	}
	return out
}

// runs is how often the task was really tried, this round.
func (w *Work) runs() int {
	n := 0
	for _, a := range w.thisRound() {
		if a.End == EndFailed || a.End == EndLost {
			n++
		}
	}
	return n
}
