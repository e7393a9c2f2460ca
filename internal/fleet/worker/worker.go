// Package worker is a machine's part in a fleet: it announces what the machine
// has, fetches tasks that it can run, one for each free slot and never ahead, runs
// them by the session as any other cell, and brings the results to the
// coordinator. It runs typed cells and nothing else.
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

// Run works until ctx is done, then gives back what it has not finished.
func (w *Worker) Run(ctx context.Context) error {
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
	beats.Go(func() { w.beat(ctx, beating) })
	for range max(1, w.Slots) {
		slots.Go(func() { w.slot(ctx) })
	}
	slots.Wait()
	quiet()
	beats.Wait()
	return nil
}

// join says hello until somebody answers. Only a refusal is an error.
func (w *Worker) join(ctx context.Context) error {
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		w.Announcement.Now = w.Now()
		o, err := w.Desk.Hello(ctx, w.Announcement)
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
		if wait > time.Second {
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
// is told.
func (w *Worker) beat(ctx, beating context.Context) {
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
			return
		case <-w.nudge:
			t.Stop()
		case <-t.C:
		}
		o, err := w.Desk.Beat(beating, fleet.Beat{Worker: w.Worker, Incarnation: w.Incarnation, Running: w.activities(), Now: w.Now()})
		switch {
		case err != nil:
			sleep(beating, min(every, time.Second))
			w.ask()
		case o.Unknown: // the coordinator was started again
			if err := w.join(beating); err != nil && beating.Err() == nil {
				w.Say("the coordinator no longer wants this worker: " + err.Error())
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

// slot runs one task after the other.
func (w *Worker) slot(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		lanes, changed, due := w.orders.Lanes, w.changed, w.orders.Check && w.Check != nil
		w.mu.Unlock()
		if len(lanes) == 0 || due {
			w.idle(ctx, changed, due)
			continue
		}
		w.next(ctx, lanes)
	}
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

// next fetches a task and runs it.
func (w *Worker) next(ctx context.Context, lanes []string) {
	w.busy.RLock()
	defer w.busy.RUnlock()
	fetching, cancel := context.WithTimeout(ctx, patience)
	d, err := w.Queue.Fetch(fetching, lanes...)
	cancel()
	switch {
	case errors.Is(err, fleet.ErrNone) || ctx.Err() != nil && d == nil:
		return
	case err != nil:
		w.Say("fetch a task: " + err.Error())
		sleep(ctx, time.Second)
		return
	case d == nil:
		return
	}
	if ctx.Err() != nil {
		_ = d.Return(context.WithoutCancel(ctx), 0)
		return
	}
	w.begin(ctx, d)
}

// begin asks for leave and runs the task.
func (w *Worker) begin(ctx context.Context, d fleet.Delivery) {
	key := d.Task().Key
	g, err := w.Desk.Begin(ctx, fleet.Beginning{Worker: w.Worker, Incarnation: w.Incarnation, Key: key})
	switch {
	case err != nil:
		_ = d.Return(context.WithoutCancel(ctx), time.Second)
		sleep(ctx, 200*time.Millisecond)
	case g.Run:
		w.run(ctx, d, g.Attempt)
	case g.Wait > 0:
		_ = d.Return(ctx, g.Wait)
		if g.Pause {
			sleep(ctx, g.Wait)
		}
	default:
		_ = d.Done(ctx)
	}
}

// run runs a task to its answer, and brings that to the coordinator.
func (w *Worker) run(ctx context.Context, d fleet.Delivery, attempt int) {
	task := d.Task()
	at, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j := &job{Activity: fleet.Activity{Key: task.Key, Attempt: attempt, Phase: "starting"}, cancel: cancel}
	w.mu.Lock()
	w.running[task.Key] = j
	lease := w.orders.Lease
	w.mu.Unlock()
	renewing, done := context.WithCancel(context.WithoutCancel(ctx))
	var renewals sync.WaitGroup
	renewals.Go(func() { renew(renewing, d, lease/3) })
	a := w.carry(at, j, task)
	a.Key, a.Attempt, a.Worker, a.Incarnation = task.Key, attempt, w.Worker, w.Incarnation
	a.Stopped = ctx.Err() != nil && len(a.Results) == 0
	if errors.Is(context.Cause(at), errUnwanted) && len(a.Results) == 0 {
		a.Key = "" // there is nothing to bring
	}
	w.deliver(ctx, d, a)
	done()
	renewals.Wait()
	w.mu.Lock()
	delete(w.running, task.Key)
	w.mu.Unlock()
}

// renew keeps a task's lease.
func renew(ctx context.Context, d fleet.Delivery, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_ = d.Renew(ctx) // where it fails the lease ends, as it should
		}
	}
}

// carry runs a task's cell and gathers its results.
func (w *Worker) carry(ctx context.Context, j *job, t fleet.Task) (a fleet.Answer) {
	defer func() {
		if r := recover(); r != nil {
			a.Error = fmt.Sprintf("the worker broke: %v", r)
		}
	}()
	plan := t.Plan()
	if _, err := plan.Normal(); err != nil {
		a.Error = "the task is not valid: " + err.Error()
		return a
	}
	err := w.Carrier.Carry(ctx, plan, progress.Func(func(e progress.Event) error {
		switch e.Kind {
		case progress.KindStarted:
			w.phase(j, "running")
		case progress.KindFinished:
			body, err := json.Marshal(e.Result)
			if err != nil {
				return err
			}
			a.Results = append(a.Results, body)
		}
		return nil
	}))
	if err != nil {
		a.Error = err.Error()
	}
	if size := bytesOf(a.Results); size > fleet.MostAnswer {
		a.Results, a.Error = nil, fmt.Sprintf("its results have %d MB, and a fleet takes %d MB of a task at most: run it without a fleet", size>>20, fleet.MostAnswer>>20)
	}
	return a
}

func bytesOf(results []json.RawMessage) int {
	n := 0
	for _, body := range results {
		n += len(body)
	}
	return n
}

func (w *Worker) phase(j *job, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j.Phase = name
}

// giveUp is how long a stopped worker tries to bring what it has.
const giveUp = 3 * time.Second

// deliver brings an answer until the coordinator has taken it.
func (w *Worker) deliver(ctx context.Context, d fleet.Delivery, a fleet.Answer) {
	if a.Key == "" {
		return
	}
	trying := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		trying, cancel = context.WithTimeout(trying, giveUp)
		defer cancel()
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		o, err := w.Desk.Finish(trying, a)
		if err == nil {
			settle(trying, d, o)
			return
		}
		if trying.Err() != nil || ctx.Err() != nil && wait > time.Second {
			return // the lease ends, and another one runs it
		}
		if wait >= 2*time.Second {
			w.Say(fmt.Sprintf("the result of %s waits for the coordinator: %v", a.Key, err))
		}
		sleep(trying, wait)
	}
}

// settle does with the queue's delivery what became of the answer. Of a late
// one the queue hears nothing: the task is another worker's.
func settle(ctx context.Context, d fleet.Delivery, o fleet.Outcome) {
	switch o {
	case fleet.Accepted, fleet.Known:
		_ = d.Done(ctx)
	case fleet.Retried:
		_ = d.Return(ctx, 50*time.Millisecond)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
