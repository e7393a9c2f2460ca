package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/progress"
)

// next fetches a task and runs it.
func (w *Worker) next(ctx context.Context, lanes []string, bringing *sync.WaitGroup) {
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
	w.begin(ctx, d, bringing)
}

// begin asks for leave and runs the task.
func (w *Worker) begin(ctx context.Context, d fleet.Delivery, bringing *sync.WaitGroup) {
	key := d.Task().Key
	g, err := w.Desk.Begin(ctx, fleet.Beginning{Worker: w.Worker, Incarnation: w.Incarnation, Key: key})
	switch {
	case err != nil:
		_ = d.Return(context.WithoutCancel(ctx), time.Second)
		sleep(ctx, 200*time.Millisecond)
	case g.Run:
		w.run(ctx, d, g.Attempt, bringing)
	case g.Wait > 0:
		_ = d.Return(ctx, g.Wait)
		if g.Pause {
			sleep(ctx, g.Wait)
		}
	default:
		_ = d.Done(ctx)
	}
}

// run runs a task to its answer, and has that brought to the coordinator: one of a slot at a time, and none
// while a timed task runs.
func (w *Worker) run(ctx context.Context, d fleet.Delivery, attempt int, bringing *sync.WaitGroup) {
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
	if task.Timed() {
		bringing.Wait()
	}
	a := w.carry(at, j, task)
	a.Key, a.Attempt, a.Worker, a.Incarnation = task.Key, attempt, w.Worker, w.Incarnation
	a.Stopped = (a.Stopped || ctx.Err() != nil) && len(a.Results) == 0
	if errors.Is(context.Cause(at), errUnwanted) && len(a.Results) == 0 {
		a.Key = "" // there is nothing to bring
	}
	bringing.Wait()
	bringing.Go(func() {
		w.deliver(ctx, d, a)
		done()
		renewals.Wait()
		w.forget(task.Key, j)
	})
	if task.Timed() {
		bringing.Wait()
	}
}

// forget drops a task that is over; a later attempt of it may have begun here.
func (w *Worker) forget(key string, j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[key] == j {
		delete(w.running, key)
	}
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
	var err error
	a.Host, err = w.carryAt(ctx, plan, t.Needs.Guest(), progress.Func(func(e progress.Event) error {
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
		a.Error, a.Stopped = err.Error(), errors.Is(err, ErrAway)
	}
	if size := bytesOf(a.Results); size > fleet.MostAnswer {
		a.Results, a.Error = nil, fmt.Sprintf("its results have %d MB, and a fleet takes %d MB of a task at most: run it without a fleet", size>>20, fleet.MostAnswer>>20)
	}
	return a
}

// carryAt runs a plan here, or where a carrier has others run it.
func (w *Worker) carryAt(ctx context.Context, plan cell.Plan, guest string, on progress.Listener) (*cell.Host, error) {
	if l, ok := w.Carrier.(Lender); ok {
		return l.CarryAt(ctx, plan, guest, on)
	}
	return nil, w.Carrier.Carry(ctx, plan, on)
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
	trying, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(giveUp, cancel) })()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		o, err := w.Desk.Finish(trying, a)
		if err == nil {
			w.note(a, o)
			settle(trying, d, o)
			return
		}
		if trying.Err() != nil {
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
