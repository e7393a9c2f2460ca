package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/progress"
)

// Run is one that the server started.
type Run struct {
	work   Work
	log    *Log
	all    *Log
	now    func() time.Time
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	state   State
	planned int
	running []cell.Cell
	results []cell.Result
	notes   []Note
	failure string
	began   time.Time
	ended   time.Time
}

// Note is a sentence that the run said, and when.
type Note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Status is a run as it is at one moment.
type Status struct {
	State   State                `json:"state"`
	Planned int                  `json:"planned"` // results that are expected
	Done    int                  `json:"done"`
	Running []cell.Cell          `json:"running"`
	Counts  map[cell.Verdict]int `json:"counts"`
	Notes   []Note               `json:"notes"`
	Error   string               `json:"error,omitempty"` // why it did not end well
	BeganAt *time.Time           `json:"began_at,omitempty"`
	EndedAt *time.Time           `json:"ended_at,omitempty"`
	Events  int64                `json:"events"` // how many there were: where a viewer may begin
}

// The events of a log beside those of package progress.
type (
	stateEvent struct {
		Run   string `json:"run,omitempty"`
		State State  `json:"state"`
		Error string `json:"error,omitempty"`
	}
	progressEvent struct {
		Run string    `json:"run,omitempty"`
		At  time.Time `json:"at"`
		progress.Event
	}
)

// ID is the run's.
func (r *Run) ID() string { return r.work.Run.ID }

// Report is the run with what it has finished, as test --json has it.
func (r *Run) Report() cell.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cell.Report{Schema: cell.Schema, Run: r.work.Run, Host: r.work.Host, Results: slices.Clone(r.results)}
}

// Plan is what was asked for; of a run that is over without its cells.
func (r *Run) Plan() cell.Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.work.Plan
}

// State is how far the run is.
func (r *Run) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Log is what happened so far, and goes on.
func (r *Run) Log() *Log { return r.log }

// Cancel ends the run. One that is over stays as it is.
func (r *Run) Cancel() { r.cancel(errCancelled) }

// Status is how far the run is.
func (r *Run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{
		State: r.state, Planned: max(r.planned, len(r.results)), Done: len(r.results), Running: append([]cell.Cell{}, r.running...),
		Counts: map[cell.Verdict]int{}, Notes: append([]Note{}, r.notes...), Error: r.failure, Events: r.log.Len(),
		BeganAt: moment(r.began), EndedAt: moment(r.ended),
	}
	for _, x := range r.results {
		s.Counts[x.Verdict]++
	}
	return s
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Hear takes in what happens in the run. It never waits for a viewer and never
// fails: what is only shown stops no run.
func (r *Run) Hear(e progress.Event) error {
	r.note(e)
	shown := e
	if e.Result != nil {
		shown.Result = Brief(*e.Result)
	}
	r.tell(string(e.Kind), progressEvent{At: r.now().UTC(), Event: shown})
	return nil
}

func (r *Run) note(e progress.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case progress.KindPlanned:
		r.planned = e.Cells
	case progress.KindStarted:
		r.running = append(r.running, *e.Cell)
	case progress.KindFinished:
		r.results = append(r.results, *Brief(*e.Result))
		r.running = slices.DeleteFunc(r.running, func(c cell.Cell) bool { return slices.Contains(e.Result.SpeaksFor(), c.Hash) })
	case progress.KindNote:
		if len(r.notes) < mostNotes {
			r.notes = append(r.notes, Note{r.now().UTC(), e.Text})
		}
	}
}

// Brief is a result without what only its own page shows: samples and counters.
func Brief(x cell.Result) *cell.Result {
	if x.Latency != nil {
		l := *x.Latency
		l.SamplesMS, l.DeviceSamples = nil, nil
		x.Latency = &l
	}
	if x.Placement != nil {
		p := *x.Placement
		p.Counters = nil
		x.Placement = &p
	}
	return &x
}

func (r *Run) begin() {
	r.mu.Lock()
	r.state, r.began = Running, r.now().UTC()
	r.mu.Unlock()
	r.tell("state", stateEvent{State: Running})
}

func (r *Run) end(s State, why error) {
	r.mu.Lock()
	r.state, r.running, r.ended = s, nil, r.now().UTC()
	r.work.Plan.Cells, r.work.Carry = nil, nil // many runs that are over are kept
	if why != nil {
		r.failure = why.Error()
	}
	text := r.failure
	r.mu.Unlock()
	r.cancel(nil)
	r.tell("end", stateEvent{State: s, Error: text})
	r.log.End()
}

// tell puts an event into the run's log, and with the run's id into that of all.
func (r *Run) tell(name string, data any) {
	r.log.Add(name, data)
	switch e := data.(type) {
	case stateEvent:
		e.Run = r.ID()
		data = e
	case progressEvent:
		e.Run = r.ID()
		data = e
	}
	r.all.Add(name, data)
}
