// Package coordinator keeps a fleet's board: it takes sweeps in, releases their
// tasks into the queue, grants attempts to workers, accepts one answer for each
// task and hands the answers to whoever sent the sweep.
//
// Each task is put into the queue for one worker, in that worker's lane, when it has a free slot or, where tasks are known
// to be short, shortly before: who runs what, and in which order, is the placer's to say, by the scheduler that is simulated.
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
	"assay/internal/fleet/placer"
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
	// Absence is how long a worker that went silent is waited for, where nobody else can run a task; 0 is five minutes.
	Absence time.Duration
	// CheckEvery is how often workers show that they are healthy; 0 never asks.
	CheckEvery time.Duration
	// News is called when workers should ask for orders before their next beat; nil
	// leaves them to it.
	News func()
}

// Coordinator is an open one. It is a fleet.Desk and a fleet.Office.
type Coordinator struct {
	c      Config
	ledger *ledger.Ledger
	opened time.Time

	mu      sync.Mutex
	board   *fleet.Board
	lanes   map[string]*lane
	present map[string]*presence
	heard   map[spot]time.Time // when an attempt under way was last heard of
	place   *placer.Placer
	dealt   map[string]map[string]*dealt // tasks that are in the queue, or under way, and with which workers
	behind  map[spot]bool                // attempts that another one has overtaken, and that are being stopped
	choosy  map[string][]string          // queued tasks that failed somewhere: the workers that they avoid
	muster  bool                         // the placer should hear who is there
	bounced map[string]bool              // tasks that a worker was told to give back
	changed chan struct{}                // closed and replaced when a sweep has a new answer
	kick    chan struct{}                // something may be released
	redo    []fleet.Task                 // to be taken out of the queue and put again
	out     []fleet.Task                 // to be taken out
	news    bool                         // workers should ask for orders
}

// presence is a worker as it is heard.
type presence struct {
	incarnation string
	seen        time.Time
	skew        time.Duration
	running     []fleet.Activity
	accepted    int
	checked     time.Time // when this incarnation last showed that it is healthy; zero is that it has to, before anything else
	vain        int       // answers in a row that were tried elsewhere
	enlisted    bool      // the placer knows what it runs
	left        bool      // it said goodbye
}

const (
	defaultPatience = 3 * time.Second
	defaultAbsence  = 5 * time.Minute
)

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
	if c.Absence <= 0 {
		c.Absence = defaultAbsence
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.News == nil {
		c.News = func() {}
	}
	x := &Coordinator{
		c: c, opened: c.Now(), board: fleet.NewBoard(), lanes: map[string]*lane{}, present: map[string]*presence{}, heard: map[spot]time.Time{}, behind: map[spot]bool{},
		dealt: map[string]map[string]*dealt{}, choosy: map[string][]string{},
		bounced: map[string]bool{}, changed: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	x.place = placer.New(func(key string) (t fleet.Task, ok bool) {
		if w := x.board.Work(key); w != nil {
			return w.Task, true
		}
		return t, false
	})
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
			x.lane(w.Task).keys[w.Key] = true
			for _, a := range w.Open() {
				x.heard[spot{w.Key, a.Worker}] = now
				x.hand(w.Key, a.Worker, dealt{at: now, begun: true})
			}
		case w.State == fleet.Queued:
			x.offer(w)
		case w.State == fleet.Paused:
			x.lane(w.Task).keys[w.Key] = true
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
		x.lane(w.Task).keys[key] = true
		x.clear(w)
		x.offer(w)
	case fleet.KindJoined: // it may have been held back until now
		if len(x.dealt[key]) == 0 {
			x.offer(w)
		}
	case fleet.KindBegan:
		x.began(w, *e.Attempt)
	case fleet.KindLost, fleet.KindFailed:
		x.undeal(w, e.Attempt.Worker)
		x.offer(w)
	case fleet.KindAccepted, fleet.KindDead:
		by := ""
		if e.Kind == fleet.KindAccepted {
			by = e.Attempt.Worker
		}
		x.settle(w, by)
		close(x.changed)
		x.changed = make(chan struct{})
	case fleet.KindRequeue:
		x.undealAll(w)
		x.clear(w)
		x.offer(w)
	}
}

// clear takes out of the queue what its worker may not have acknowledged yet, of a task that
// had its answer before.
func (x *Coordinator) clear(w *fleet.Work) {
	if n := len(w.Attempts); n > 0 {
		x.remove(w.Task, w.Attempts[n-1].Worker)
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
	fresh := x.deal()
	redo, out, news := x.redo, x.out, x.news
	x.redo, x.out, x.news = nil, nil, false
	x.mu.Unlock()
	for _, t := range slices.Concat(out, redo) {
		if err := x.c.Queue.Remove(ctx, t.Lane(), t.Key); err != nil && ctx.Err() == nil {
			x.c.Log.Warn("a task could not be taken out of the queue", "task", t.Key, "error", err)
		}
	}
	x.put(ctx, append(redo, fresh...))
	if news {
		x.c.News()
	}
}

// put queues tasks; those that could not be are dealt again later.
func (x *Coordinator) put(ctx context.Context, tasks []fleet.Task) {
	if len(tasks) == 0 {
		return
	}
	if _, err := x.c.Queue.Put(ctx, tasks...); err != nil && ctx.Err() == nil {
		x.c.Log.Warn("tasks could not be queued and are tried again", "tasks", len(tasks), "error", err)
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, t := range tasks {
			if d := x.dealt[t.Key][t.To]; d != nil && !d.begun {
				x.undeal(x.board.Work(t.Key), t.To)
				x.offer(x.board.Work(t.Key))
			}
		}
	}
}

// tick notices what did not happen.
func (x *Coordinator) tick() {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.c.Now()
	for _, s := range slices.Collect(maps.Keys(x.heard)) {
		if now.Sub(x.heard[s]) < x.c.Lease {
			continue
		}
		w := x.board.Work(s.key)
		if a := w.By(s.worker); a != nil {
			x.lose(w, a.N, fmt.Sprintf("worker %s was not heard for %s", a.Worker, x.c.Lease))
		} else {
			delete(x.heard, s)
		}
	}
	x.judgeLanes(now)
	x.reconcile(now)
}

func (x *Coordinator) lose(w *fleet.Work, n int, why string) {
	events := x.board.Lose(w, n, why, x.c.Now())
	for _, a := range w.Open() {
		if a.N == n && x.there(a) { // it was granted, and its worker never heard of that
			why = fmt.Sprintf("worker %s is not at it", a.Worker)
			events = x.board.Drop(w, n, why, x.c.Now())
		}
	}
	x.c.Log.Warn("an attempt was lost", "task", w.Key, "attempt", n, "why", why)
	if err := x.commit(events...); err != nil {
		x.c.Log.Error("the ledger cannot be written", "error", err)
	}
}

// exhausted decides about a task that the queue delivers no more.
func (x *Coordinator) exhausted(ctx context.Context, key string) {
	x.mu.Lock()
	w := x.board.Work(key)
	switch {
	case w == nil:
	case x.bounced[key] && w.State == fleet.Queued: // it was given back by order
		x.again(w)
	default:
		if err := x.commit(x.board.Exhaust(key, x.c.Now())...); err != nil {
			x.c.Log.Error("the ledger cannot be written", "error", err)
		}
	}
	x.awake()
	x.mu.Unlock()
	_ = x.ledger.Wait(ctx)
}
