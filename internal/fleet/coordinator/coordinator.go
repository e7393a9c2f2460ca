// Package coordinator keeps a fleet's board: it takes sweeps in, releases their
// tasks into the queue, grants attempts to workers, accepts one answer for each
// task and hands the answers to whoever sent the sweep.
//
// What counts is in the ledger before anybody hears of it. The queue only
// hands tasks out: what it forgets is put again, what it delivers twice is
// refused. Beside the board a coordinator knows only what stops being true when
// it is stopped: which worker was heard when, and which tasks the queue holds.
package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/ledger"
)

// Config is set once, before Open.
type Config struct {
	Dir     string // of the ledger
	Queue   fleet.Queue
	Lease   time.Duration // of a task; 0 is fleet.Lease
	Version string
	Now     func() time.Time // nil is time.Now
	Log     *slog.Logger     // nil is silent
	// Patience is how long a task waits for a worker that has its target before
	// it may fall back, and before it is called stranded; 0 is three seconds.
	Patience time.Duration
	// CheckEvery is how often workers show that they are healthy; 0 never asks.
	CheckEvery time.Duration
	// News is called when workers should ask for orders before their next beat; nil
	// leaves them to it.
	News func()
	// Place decides who runs what first; nil is first come, first served.
	Place Placer
}

// Placer is how tasks come to workers. Its methods are called one at a time.
type Placer interface {
	// Order sorts the tasks of one lane: the first is released first.
	Order(tasks []fleet.Task, now time.Time)
	// Wait is how long a worker should leave a task to others; 0 is that it runs it now. able
	// finds out who else could, which takes a while where there are thousands.
	Wait(t fleet.Task, worker string, able func() []Able, now time.Time) time.Duration
	// Learn hears how long a task took.
	Learn(t fleet.Task, worker string, took time.Duration)
}

// Able is a worker that could run a task, and what it does now.
type Able struct {
	Worker string
	Slots  int
	Busy   []Busy
}

// Busy is a task under way.
type Busy struct {
	Task  fleet.Task
	Began time.Time
}

// Coordinator is an open one. It is a fleet.Desk and a fleet.Office.
type Coordinator struct {
	c      Config
	ledger *ledger.Ledger

	mu      sync.Mutex
	board   *fleet.Board
	lanes   map[string]*lane
	present map[string]*presence
	heard   map[string]time.Time // when the attempt under way of a task was last heard of
	bounced map[string]bool      // tasks that a worker was told to give back
	changed chan struct{}        // closed and replaced when a sweep has a new answer
	kick    chan struct{}        // something may be released
	redo    []fleet.Task         // to be taken out of the queue and put again
	out     []fleet.Task         // to be taken out
	news    bool                 // workers should ask for orders
}

// presence is a worker as it is heard.
type presence struct {
	incarnation string
	seen        time.Time
	skew        time.Duration
	running     []fleet.Activity
	accepted    int
	checked     time.Time // when this incarnation last showed that it is healthy
}

const defaultPatience = 3 * time.Second

// Open reads the ledger; Run does the rest.
func Open(c Config) (*Coordinator, error) {
	if c.Lease <= 0 {
		c.Lease = fleet.Lease
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.News == nil {
		c.News = func() {}
	}
	x := &Coordinator{
		c: c, board: fleet.NewBoard(), lanes: map[string]*lane{}, present: map[string]*presence{}, heard: map[string]time.Time{},
		bounced: map[string]bool{}, changed: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	l, err := ledger.Open(filepath.Join(c.Dir, "ledger.jsonl"), x.board.Apply)
	if err != nil {
		return nil, err
	}
	x.ledger = l
	x.recall()
	return x, nil
}

// recall is what follows from the board alone: what waits, and what is under way
// and has a lease to be heard in.
func (x *Coordinator) recall() {
	now := x.c.Now()
	for w := range x.board.Works {
		switch {
		case w.State.UnderWay():
			x.lane(w.Task).released[w.Key] = now
			x.heard[w.Key] = now
		case w.State == fleet.Queued:
			x.lane(w.Task).wait(w.Key)
		}
	}
}

// Run does what nobody asks for: releases tasks, notices silence, reads what the
// queue gave up. It returns when ctx is done.
func (x *Coordinator) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.c.Queue.Exhausted(ctx, func(key string) { x.exhausted(ctx, key) }); err != nil {
			x.c.Log.Error("the queue's advisories cannot be read", "error", err)
		}
	})
	defer wg.Wait()
	tick := time.NewTicker(min(time.Second, x.c.Lease/5))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			x.tick()
		case <-x.kick:
		}
		x.work(ctx)
	}
}

// Close closes the ledger.
func (x *Coordinator) Close() error { return x.ledger.Close() }

// commit writes events down and applies them; the caller holds the lock, and
// waits for the ledger before it tells anybody.
func (x *Coordinator) commit(events ...fleet.Event) error {
	if len(events) == 0 {
		return nil
	}
	refs, err := x.ledger.Append(events...)
	if err != nil {
		return err
	}
	for i, e := range events {
		x.board.Apply(e, refs[i])
		x.follow(e)
	}
	return nil
}

// follow keeps lanes and hearing in step with the board.
func (x *Coordinator) follow(e fleet.Event) {
	key := e.Key
	if e.Task != nil {
		key = e.Task.Key
	}
	w := x.board.Work(key)
	switch e.Kind {
	case fleet.KindTask:
		x.lane(w.Task).wait(key)
		x.awake()
	case fleet.KindBegan:
		x.heard[key] = x.c.Now()
		l := x.lane(w.Task)
		if _, ok := l.released[key]; !ok {
			l.released[key] = x.c.Now()
		}
	case fleet.KindLost, fleet.KindFailed:
		delete(x.heard, key)
		if w.State == fleet.Queued {
			x.redo = append(x.redo, w.Task)
			x.awake()
		}
	case fleet.KindAccepted, fleet.KindDead:
		x.settle(w)
		if e.Kind == fleet.KindDead {
			x.out = append(x.out, w.Task)
		}
		close(x.changed)
		x.changed = make(chan struct{})
	case fleet.KindRequeue:
		x.lane(w.Task).released[key] = x.c.Now()
		x.redo = append(x.redo, w.Task)
		x.awake()
	}
}

// settle forgets a task that has ended.
func (x *Coordinator) settle(w *fleet.Work) {
	delete(x.heard, w.Key)
	delete(x.bounced, w.Key)
	l := x.lanes[w.Lane()]
	if l == nil {
		return
	}
	delete(l.released, w.Key)
	if len(l.released) <= l.window/2 {
		x.awake()
	}
}

func (x *Coordinator) awake() {
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// work does what is due with the queue, which may take a while: without the lock.
func (x *Coordinator) work(ctx context.Context) {
	x.mu.Lock()
	redo, out, news := x.redo, x.out, x.news
	x.redo, x.out, x.news = nil, nil, false
	releases := x.release()
	x.mu.Unlock()
	for _, t := range slices.Concat(out, redo) {
		if err := x.c.Queue.Remove(ctx, t.Lane(), t.Key); err != nil && ctx.Err() == nil {
			x.c.Log.Warn("a task could not be taken out of the queue", "task", t.Key, "error", err)
		}
	}
	x.put(ctx, redo)
	for _, tasks := range releases {
		x.put(ctx, tasks)
	}
	if news || len(releases) > 0 {
		x.c.News()
	}
}

// put queues tasks; those that could not be are released again later.
func (x *Coordinator) put(ctx context.Context, tasks []fleet.Task) {
	if len(tasks) == 0 {
		return
	}
	if _, err := x.c.Queue.Put(ctx, tasks...); err != nil && ctx.Err() == nil {
		x.c.Log.Warn("tasks could not be queued and are tried again", "tasks", len(tasks), "error", err)
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, t := range tasks {
			if w := x.board.Work(t.Key); w != nil && w.State == fleet.Queued {
				delete(x.lane(t).released, t.Key)
				x.lane(t).wait(t.Key)
			}
		}
	}
}

// tick notices what did not happen.
func (x *Coordinator) tick() {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.c.Now()
	for _, key := range slices.Collect(maps.Keys(x.heard)) {
		if now.Sub(x.heard[key]) < x.c.Lease {
			continue
		}
		w := x.board.Work(key)
		if a := w.Current(); a != nil {
			x.lose(w, a.N, fmt.Sprintf("worker %s was not heard for %s", a.Worker, x.c.Lease))
		} else {
			delete(x.heard, key)
		}
	}
	x.judgeLanes(now)
	x.reconcile(now)
}

func (x *Coordinator) lose(w *fleet.Work, n int, why string) {
	x.c.Log.Warn("an attempt was lost", "task", w.Key, "attempt", n, "why", why)
	if err := x.commit(x.board.Lose(w, n, why, x.c.Now())...); err != nil {
		x.c.Log.Error("the ledger cannot be written", "error", err)
	}
}

// reconcile puts again what was released long ago and nobody has begun: a
// queue that lost it is not told apart from one that holds it.
func (x *Coordinator) reconcile(now time.Time) {
	for _, l := range x.lanes {
		for key, since := range l.released {
			if w := x.board.Work(key); w.State == fleet.Queued && now.Sub(since) > 4*x.c.Lease && len(l.able) > 0 {
				l.released[key] = now
				if !x.bounced[key] {
					x.redo = append(x.redo, w.Task)
				}
				delete(x.bounced, key)
			}
		}
	}
	if len(x.redo) > 0 {
		x.awake()
	}
}

// exhausted decides about a task that the queue delivers no more.
func (x *Coordinator) exhausted(ctx context.Context, key string) {
	x.mu.Lock()
	w := x.board.Work(key)
	switch {
	case w == nil:
	case x.bounced[key] && w.State == fleet.Queued: // it was given back by order
		delete(x.bounced, key)
		x.redo = append(x.redo, w.Task)
	default:
		if err := x.commit(x.board.Exhaust(key, x.c.Now())...); err != nil {
			x.c.Log.Error("the ledger cannot be written", "error", err)
		}
	}
	x.awake()
	x.mu.Unlock()
	_ = x.ledger.Wait(ctx)
}
