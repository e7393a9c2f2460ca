// Package live holds the runs that a server has started, and lets anybody watch
// them while they go.
//
// Runs is the book of them: Start admits a run if there is room, carries it out in
// the background and returns at once; Cancel ends it. A Run is a progress.Listener.
// All that it hears goes to its Log (log.go), once and as finished JSON. A viewer
// reads the log at its own pace from wherever it is: the run never waits for a
// viewer, and a viewer who is too slow misses events and is told so.
//
// Gauge (gauge.go) says how busy and how warm the machine is meanwhile.
//
// The package knows nothing about HTTP, and nothing about how plans are made or
// carried out: that comes in as Work.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/progress"
)

// State is how far a run is.
type State string

// The states of a run.
const (
	Waiting   State = "waiting" // for its turn
	Running   State = "running"
	Finished  State = "finished"
	Cancelled State = "cancelled" // what was finished is kept
	Failed    State = "failed"    // the program failed, not a model
)

// Over reports whether nothing more will happen.
func (s State) Over() bool { return s == Finished || s == Cancelled || s == Failed }

// Work is a plan that is ready to be carried out.
type Work struct {
	Run  cell.Run
	Host cell.Host
	Plan cell.Plan
	// Carry carries it out, journals it and tells the listener; Drop gives back what
	// was opened for it instead. One of the two is called, once.
	Carry func(context.Context, progress.Listener) error
	Drop  func() error
}

// The limits of a book of runs.
const (
	mostWaiting = 16   // runs that are not over
	mostKept    = 64   // runs that are over, in memory; their results are in journals
	mostNotes   = 1000 // sentences kept of a run
)

// ErrFull says that too many runs wait already.
var ErrFull = fmt.Errorf("%d runs are in progress or waiting already: cancel one, or wait", mostWaiting)

// ErrClosed says that the book takes no more runs.
var ErrClosed = errors.New("the server is closing")

// errCancelled ends a run that somebody cancelled.
var errCancelled = errors.New("cancelled: what was finished is kept")

// Runs is the book of runs. Its runs go one after the other: each has the machine,
// as it would from a terminal.
type Runs struct {
	All *Log // hears of every run

	now     func() time.Time
	context context.Context //nolint:containedctx // the book's life, ended by Close
	cancel  context.CancelCauseFunc
	turn    chan struct{}
	work    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	runs   []*Run // oldest first
}

// NewRuns returns an empty book.
func NewRuns(now func() time.Time) *Runs {
	b := &Runs{All: NewLog(), now: now, turn: make(chan struct{}, 1)}
	b.context, b.cancel = context.WithCancelCause(context.Background())
	return b
}

// Close cancels what is in progress and waits for it.
func (b *Runs) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel(ErrClosed)
	b.work.Wait()
	b.All.End()
	return nil
}

// Start begins a run, or has it wait for its turn.
func (b *Runs) Start(w Work) (*Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	waiting := 0
	for _, r := range b.runs {
		if !r.State().Over() {
			waiting++
		}
	}
	if waiting >= mostWaiting {
		return nil, ErrFull
	}
	r := &Run{work: w, log: NewLog(), all: b.All, now: b.now, state: Waiting, planned: len(w.Plan.Cells)}
	ctx, cancel := context.WithCancelCause(b.context)
	r.cancel = cancel
	b.forget(len(b.runs) - waiting)
	b.runs = append(b.runs, r)
	r.tell("state", stateEvent{State: Waiting})
	b.work.Go(func() { b.carry(ctx, r) })
	return r, nil
}

// forget drops the oldest of the runs that are over.
func (b *Runs) forget(over int) {
	for i := 0; over >= mostKept && i < len(b.runs); {
		if b.runs[i].State().Over() {
			b.runs = slices.Delete(b.runs, i, i+1)
			over--
		} else {
			i++
		}
	}
}

func (b *Runs) carry(ctx context.Context, r *Run) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
	}
	if context.Cause(ctx) != nil {
		r.end(Cancelled, errors.Join(context.Cause(ctx), r.work.Drop()))
		return
	}
	r.begin()
	err := r.work.Carry(ctx, r)
	switch {
	case context.Cause(ctx) != nil:
		r.end(Cancelled, context.Cause(ctx))
	case err != nil:
		r.end(Failed, err)
	default:
		r.end(Finished, nil)
	}
}

// Get returns the run with an id.
func (b *Runs) Get(id string) (*Run, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.runs, func(r *Run) bool { return r.work.Run.ID == id })
	if i < 0 {
		return nil, false
	}
	return b.runs[i], true
}

// List returns the runs, the newest first.
func (b *Runs) List() []*Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.runs)
	slices.Reverse(out)
	return out
}

// Busy reports whether a run is in progress.
func (b *Runs) Busy() bool {
	return slices.ContainsFunc(b.List(), func(r *Run) bool { return r.State() == Running })
}
