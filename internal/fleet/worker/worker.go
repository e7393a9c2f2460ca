// Package worker is a machine's part in a fleet: it announces what the machine
// has, fetches the tasks that it is to run, one for each free slot and never ahead, runs
// them by the session as any other cell, and brings the results to the
// coordinator while the next ones begin, unless something is timed. It runs typed cells and nothing else.
//
// A worker that is cut off goes on with what it has, and brings it when it is
// back; whether that still counts is the coordinator's to say.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/progress"
)

// Carrier runs a plan on this machine: a session.
type Carrier interface {
	Carry(ctx context.Context, plan cell.Plan, on progress.Listener) error
}

// Lender is a carrier that has some plans run on other machines: those of guests.
type Lender interface {
	// CarryAt is Carry, on a guest of that name if there is one, and says which machine the results are from; nil is this
	// one. ErrAway says that what the plan needs has gone.
	CarryAt(ctx context.Context, plan cell.Plan, guest string, on progress.Listener) (at *cell.Host, err error)
}

// ErrAway says that what a plan was to run on has gone, which says nothing about its cells.
var ErrAway = errors.New("what it was to run on has gone")

// Config is set once, before Run.
type Config struct {
	fleet.Announcement
	Desk    fleet.Desk
	Queue   fleet.Queue
	Carrier Carrier
	// Check runs a health check and says what is wrong; nil is a worker that has none.
	Check func(ctx context.Context) (wrong string, results []cell.Result)
	Now   func() time.Time // nil is time.Now
	Say   func(string)     // hears what people may want to know; nil is nobody
	// Refused reports whether an error is the coordinator's answer, so that trying
	// again does not help; nil tries again whatever it is.
	Refused func(error) bool
	// Hear has the worker ask for orders whenever it is called back; nil leaves it
	// to its beats.
	Hear func(on func()) (stop func(), err error)
}

// Worker is one that runs.
type Worker struct {
	Config

	busy sync.RWMutex // held for reading by a task under way, for writing by a health check

	mu      sync.Mutex
	orders  fleet.Orders
	changed chan struct{} // closed and replaced with the orders
	running map[string]*job
	nudge   chan struct{}
	vain    int  // answers in a row that were tried elsewhere
	stale   bool // the coordinator does not know yet what the worker offers
}

// job is a task under way.
type job struct {
	fleet.Activity
	cancel  context.CancelCauseFunc
	stopped bool // it was told to stop
}

// New is a worker that has not begun.
func New(c Config) *Worker {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Say == nil {
		c.Say = func(string) {}
	}
	return &Worker{Config: c, changed: make(chan struct{}), running: map[string]*job{}, nudge: make(chan struct{}, 1), orders: fleet.Orders{Lease: fleet.Lease}}
}

// errUnwanted ends a task that nobody waits for.
var errUnwanted = errors.New("nobody waits for it")

// Run works until ctx is done, or the coordinator does not want this worker any more, then gives back what it has not finished.
func (w *Worker) Run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := w.join(ctx); err != nil {
		return err
	}
	if w.Hear != nil {
		stop, err := w.Hear(w.ask)
		if err != nil {
			return err
		}
		defer stop()
	}
	// Beats go on until the last task is given back.
	beating, quiet := context.WithCancel(context.WithoutCancel(ctx))
	var beats, slots sync.WaitGroup
	var unwanted error // written before beats ends
	beats.Go(func() {
		if unwanted = w.beat(ctx, beating); unwanted != nil {
			end(unwanted)
		}
	})
	for range max(1, w.Slots) {
		slots.Go(func() { w.slot(ctx) })
	}
	slots.Wait()
	quiet()
	beats.Wait()
	if unwanted == nil {
		w.leave(ctx)
	}
	return unwanted
}

// leave says goodbye, so that nobody waits for the worker. Where that fails its silence says the same, later.
func (w *Worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = w.Desk.Beat(ctx, fleet.Beat{Worker: w.Worker, Incarnation: w.Incarnation, Now: w.Now(), Leaving: true})
}

// Offer changes what the worker offers.
func (w *Worker) Offer(offers []fleet.Offer) {
	w.mu.Lock()
	w.Offers, w.stale = slices.Clone(offers), true
	w.mu.Unlock()
	w.ask()
}

// offersOther reports whether the coordinator has to hear of other offers.
func (w *Worker) offersOther() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stale
}

// announcement is what the worker says about itself now.
func (w *Worker) announcement() fleet.Announcement {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale = false
	a := w.Announcement
	a.Now = w.Now()
	return a
}

// join says hello until somebody answers. Only a refusal is an error.
func (w *Worker) join(ctx context.Context) error {
	began, told := time.Now(), time.Time{}
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		o, err := w.Desk.Hello(ctx, w.announcement())
		if err == nil {
			w.obey(o)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.Refused != nil && w.Refused(err) {
			return err
		}
		if time.Since(began) > time.Second && time.Since(told) > time.Minute {
			told = time.Now()
			w.Say("waiting for the coordinator: " + err.Error())
		}
		sleep(ctx, wait)
	}
}

func (w *Worker) ask() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// beat says at least three times a lease what the worker does, and does what it
// is told. It returns when beating is done, or why the coordinator wants the worker no longer.
func (w *Worker) beat(ctx, beating context.Context) error {
	var checks sync.WaitGroup
	defer checks.Wait()
	for {
		w.mu.Lock()
		every := w.orders.Lease / 3
		w.mu.Unlock()
		t := time.NewTimer(every)
		select {
		case <-beating.Done():
			t.Stop()
			return nil
		case <-w.nudge:
			t.Stop()
		case <-t.C:
		}
		o, err := w.Desk.Beat(beating, fleet.Beat{Worker: w.Worker, Incarnation: w.Incarnation, Running: w.activities(), Now: w.Now()})
		switch {
		case err != nil:
			sleep(beating, min(every, time.Second))
			w.ask()
		case o.Unknown, w.offersOther(): // the coordinator was started again; the worker offers something else
			if err := w.join(beating); err != nil && beating.Err() == nil {
				return fmt.Errorf("the coordinator no longer wants this worker: %w", err)
			}
		default:
			w.obey(o)
		}
		if w.due() {
			checks.Go(func() { w.check(ctx) }) // beats go on meanwhile
		}
	}
}

// obey takes orders.
func (w *Worker) obey(o fleet.Orders) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.Quarantined != w.orders.Quarantined && o.Quarantined != "" {
		w.Say("this worker is quarantined: " + o.Quarantined)
	}
	if o.Draining && !w.orders.Draining {
		w.Say("this worker is draining: it gets no more tasks")
	}
	same := slices.Equal(o.Lanes, w.orders.Lanes) && o.Check == w.orders.Check
	w.orders = o
	if !same {
		close(w.changed)
		w.changed = make(chan struct{})
	}
	for _, a := range o.Stop {
		w.stop(a, o.Lease/3)
	}
}

// stop ends a task that nobody waits for, unless it is done soon: what it gives
// then is evidence.
func (w *Worker) stop(a fleet.Activity, grace time.Duration) {
	j := w.running[a.Key]
	if j == nil || j.Attempt != a.Attempt || j.stopped {
		return
	}
	j.stopped = true
	time.AfterFunc(grace, func() { j.cancel(errUnwanted) })
}

func (w *Worker) activities() []fleet.Activity {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []fleet.Activity
	for _, key := range slices.Sorted(maps.Keys(w.running)) {
		out = append(out, w.running[key].Activity)
	}
	return out
}

func (w *Worker) due() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.orders.Check && w.Check != nil
}

// check runs the health check when no task is under way, and reports.
func (w *Worker) check(ctx context.Context) {
	if !w.busy.TryLock() {
		return // at a later beat
	}
	defer w.busy.Unlock()
	wrong, results := w.Check(ctx)
	if ctx.Err() != nil {
		return
	}
	h := fleet.Health{Worker: w.Worker, Incarnation: w.Incarnation, Wrong: wrong}
	for _, r := range results {
		if body, err := json.Marshal(r); err == nil {
			h.Results = append(h.Results, body)
		}
	}
	if o, err := w.Desk.Health(ctx, h); err == nil && !o.Unknown {
		w.obey(o)
	}
}

// slot runs one task after the other, and brings the answer of each while the next one begins.
func (w *Worker) slot(ctx context.Context) {
	var bringing sync.WaitGroup
	defer bringing.Wait()
	for ctx.Err() == nil {
		w.mu.Lock()
		lanes, changed, due := w.orders.Lanes, w.changed, w.orders.Check && w.Check != nil
		w.mu.Unlock()
		if len(lanes) == 0 || due {
			w.idle(ctx, changed, due)
			continue
		}
		sleep(ctx, w.pause())
		w.next(ctx, lanes, &bringing)
	}
}

// note takes in what became of an answer.
func (w *Worker) note(a fleet.Answer, o fleet.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case o == fleet.Accepted:
		w.vain = 0
	case o == fleet.Retried && !a.Stopped:
		w.vain++
	}
}

// longestPause is how long a worker waits at most whose answers are all tried elsewhere.
const longestPause = 10 * time.Second

// pause is how long to wait before the next task: whose answers are tried elsewhere, one after the other, has
// something wrong with its machine, and would take the others' tasks away as fast as it fails.
func (w *Worker) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vain < 2 {
		return 0
	}
	return min(time.Second<<min(w.vain-2, 10), longestPause)
}

// idle waits for orders.
func (w *Worker) idle(ctx context.Context, changed <-chan struct{}, due bool) {
	if due {
		w.ask() // the check waits for slots to be free
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-t.C:
	}
}

// patience is how long one fetch waits.
const patience = 2 * time.Second

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
