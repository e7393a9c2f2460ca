// Package queuetest is the suite that every queue of the fleet passes. Each test
// is about something that a queue of costly tasks must not get wrong.
package queuetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/platform"
)

// Make opens an empty queue with limits, which ends with the test.
type Make func(t *testing.T, l fleet.Limits) fleet.Queue

// Run runs the suite.
func Run(t *testing.T, open Make) {
	for name, test := range map[string]func(*testing.T, Make){
		"one at a time":          oneAtATime,
		"in order":               inOrder,
		"one of a key":           oneOfAKey,
		"full":                   full,
		"lanes":                  lanes,
		"lease":                  lease,
		"renewed":                renewed,
		"returned":               returned,
		"late acknowledgement":   lateAcknowledgement,
		"exhausted":              exhausted,
		"removed":                removed,
		"nothing there":          nothing,
		"each to one":            eachToOne,
		"again after its end":    again,
		"a batch with known one": batchWithKnown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// Task is the n-th no-op.
func Task(n int) fleet.Task {
	return fleet.NewTask(cell.Cell{Type: "noop", Engine: platform.Noop, Seed: n}, cell.Plan{Timing: cell.Functional}, fleet.Needs{})
}

var lane = Task(1).Lane()

func tasks(to int) []fleet.Task {
	var out []fleet.Task
	for n := 1; n <= to; n++ {
		out = append(out, Task(n))
	}
	return out
}

func put(t *testing.T, q fleet.Queue, tasks ...fleet.Task) {
	t.Helper()
	known, err := q.Put(t.Context(), tasks...)
	if err != nil || len(known) > 0 {
		t.Fatalf("put: %v, known %v", err, known)
	}
}

// fetch returns a task, or nil when none came for a while.
func fetch(t *testing.T, q fleet.Queue, wait time.Duration, lanes ...string) fleet.Delivery {
	t.Helper()
	if len(lanes) == 0 {
		lanes = []string{lane}
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	d, err := q.Fetch(ctx, lanes...)
	if errors.Is(err, fleet.ErrNone) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must is fetch of a task that has to come.
func must(t *testing.T, q fleet.Queue, lanes ...string) fleet.Delivery {
	t.Helper()
	d := fetch(t, q, 20*time.Second, lanes...)
	if d == nil {
		t.Fatal("no task came")
	}
	return d
}

func done(t *testing.T, d fleet.Delivery) {
	t.Helper()
	if err := d.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What one worker has not asked for is free for another: nothing is buffered ahead.
func oneAtATime(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: time.Minute})
	put(t, q, tasks(3)...)
	first := must(t, q)
	others := map[string]bool{}
	for range 2 {
		d := must(t, q)
		others[d.Task().Key] = true
	}
	if len(others) != 2 || others[first.Task().Key] {
		t.Errorf("the first worker has more than it asked for: others got %v", others)
	}
	if d := fetch(t, q, 300*time.Millisecond); d != nil {
		t.Errorf("%s was delivered twice", d.Task().Key)
	}
}

func inOrder(t *testing.T, open Make) {
	q := open(t, fleet.Limits{})
	want := tasks(20)
	put(t, q, want...)
	for _, w := range want {
		d := must(t, q)
		if d.Task().Key != w.Key || d.Task().Cell != w.Cell {
			t.Fatalf("got %+v, want %+v", d.Task(), w)
		}
		done(t, d)
	}
}

// A key is held once, whoever puts it and whenever.
func oneOfAKey(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: time.Minute})
	put(t, q, Task(1))
	for range 2 {
		known, err := q.Put(t.Context(), Task(1))
		if err != nil || !slices.Equal(known, []string{Task(1).Key}) {
			t.Fatalf("known %v, %v", known, err)
		}
		if d := fetch(t, q, 300*time.Millisecond); d == nil {
			return // the second round: it is leased
		}
	}
	t.Error("the task came twice")
}

func batchWithKnown(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: time.Minute})
	put(t, q, Task(3))
	known, err := q.Put(t.Context(), tasks(5)...)
	if err != nil || !slices.Equal(known, []string{Task(3).Key}) {
		t.Fatalf("known %v, %v", known, err)
	}
	held, err := q.Waiting(t.Context())
	if err != nil || held[lane] != 5 {
		t.Errorf("it holds %v, %v", held, err)
	}
}

// A full queue refuses what is new and drops nothing.
func full(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Tasks: 3, Lease: time.Minute})
	put(t, q, tasks(3)...)
	if _, err := q.Put(t.Context(), Task(4)); !errors.Is(err, fleet.ErrFull) {
		t.Fatalf("a fourth: %v", err)
	}
	for n := 1; n <= 3; n++ {
		if d := must(t, q); d.Task().Key != Task(n).Key {
			t.Errorf("task %d is gone: %s came", n, d.Task().Cell.Hash)
		}
	}
}

// A worker gets tasks of its lanes alone.
func lanes(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: time.Minute})
	gpu := fleet.NewTask(cell.Cell{Type: "bert", Target: "cuda"}, cell.Plan{Timing: cell.Functional}, fleet.Needs{})
	put(t, q, gpu, Task(1))
	if d := must(t, q, lane); d.Task().Key != Task(1).Key {
		t.Errorf("lane %s gave %s", lane, d.Task().Key)
	}
	if d := fetch(t, q, 300*time.Millisecond, lane); d != nil {
		t.Errorf("lane %s gave %s", lane, d.Task().Key)
	}
	if d := must(t, q, lane, gpu.Lane(), "nowhere"); d.Task().Key != gpu.Key {
		t.Errorf("both lanes gave %s", d.Task().Key)
	}
}

// A task whose holder is silent goes to another.
func lease(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: 500 * time.Millisecond})
	put(t, q, Task(1))
	began := time.Now()
	must(t, q)
	d := must(t, q)
	if d.Count() != 2 || time.Since(began) < 400*time.Millisecond {
		t.Errorf("delivery %d after %s", d.Count(), time.Since(began))
	}
}

// One that says that it is at work keeps it.
func renewed(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: 4 * time.Second})
	put(t, q, Task(1))
	d := must(t, q)
	for range 6 {
		time.Sleep(time.Second)
		if err := d.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if other := fetch(t, q, 500*time.Millisecond); other != nil {
		t.Error("the task was delivered again though it was renewed")
	}
}

// A task that is given back comes again after its delay, not at once.
func returned(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: time.Minute})
	put(t, q, Task(1))
	d := must(t, q)
	began := time.Now()
	if err := d.Return(t.Context(), 800*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if must(t, q); time.Since(began) < 700*time.Millisecond {
		t.Errorf("it came back after %s", time.Since(began))
	}
}

// The queue believes an old holder: that is why attempts are numbered elsewhere.
func lateAcknowledgement(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: 500 * time.Millisecond})
	put(t, q, Task(1))
	old := must(t, q)
	newer := must(t, q)
	done(t, old)
	if d := fetch(t, q, 1500*time.Millisecond); d != nil {
		t.Errorf("delivery %d", d.Count())
	}
	done(t, newer) // no error: it is as if it had been first
}

// What is delivered in vain as often as may be is told, and stays.
func exhausted(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: 300 * time.Millisecond, Deliveries: 2})
	told := listen(t, q)
	time.Sleep(100 * time.Millisecond) // until somebody listens
	put(t, q, Task(1))
	for range 2 {
		must(t, q)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil { // some queues notice when they are asked
			d, err := q.Fetch(ctx, lane)
			if err == nil {
				t.Errorf("delivery %d", d.Count())
			}
		}
	})
	select {
	case key := <-told:
		if key != Task(1).Key {
			t.Errorf("told of %q", key)
		}
	case <-ctx.Done():
		t.Fatal("nobody was told")
	}
	cancel()
	asking.Wait() // else it would fetch the task that is put again below
	if held, err := q.Waiting(t.Context()); err != nil || held[lane] != 1 {
		t.Errorf("it holds %v, %v", held, err)
	}
	if err := q.Remove(t.Context(), lane, Task(1).Key); err != nil {
		t.Fatal(err)
	}
	put(t, q, Task(1))
	if d := must(t, q); d.Count() > 2 { // on a busy machine its lease may have ended meanwhile
		t.Errorf("queued again, it is delivery %d", d.Count())
	}
}

// listen listens for tasks that are delivered no more.
func listen(t *testing.T, q fleet.Queue) <-chan string {
	told := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = q.Exhausted(ctx, func(key string) { told <- key }) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return told
}

func removed(t *testing.T, open Make) {
	q := open(t, fleet.Limits{Lease: 500 * time.Millisecond})
	put(t, q, tasks(2)...)
	must(t, q)
	for range 2 {
		if err := q.Remove(t.Context(), lane, Task(1).Key); err != nil {
			t.Fatal(err)
		}
	}
	d := must(t, q)
	if d.Task().Key != Task(2).Key {
		t.Errorf("%s came, which was removed", d.Task().Key)
	}
	done(t, d)
	if d := fetch(t, q, time.Second); d != nil {
		t.Errorf("%s came", d.Task().Key)
	}
}

func nothing(t *testing.T, open Make) {
	q := open(t, fleet.Limits{})
	if d := fetch(t, q, 200*time.Millisecond); d != nil {
		t.Errorf("%s came", d.Task().Key)
	}
	go func() {
		time.Sleep(200 * time.Millisecond)
		_, _ = q.Put(context.WithoutCancel(t.Context()), Task(1))
	}()
	must(t, q) // one who waits is woken
}

// Many workers at once get every task once.
func eachToOne(t *testing.T, open Make) {
	const n = 60
	q := open(t, fleet.Limits{Lease: time.Minute})
	put(t, q, tasks(n)...)
	got := newTally()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				d, err := q.Fetch(ctx, lane)
				cancel()
				if err != nil {
					return
				}
				got.add(d.Task().Key)
				_ = d.Done(t.Context())
			}
		})
	}
	wg.Wait()
	for i := 1; i <= n; i++ {
		if c := got.count[Task(i).Key]; c != 1 {
			t.Errorf("task %s was delivered %d times", strconv.Itoa(i), c)
		}
	}
}

type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func newTally() *tally { return &tally{count: map[string]int{}} }

func (c *tally) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[key]++
}

// A key that is done may be queued again, at any time: no window of
// deduplication swallows it.
func again(t *testing.T, open Make) {
	q := open(t, fleet.Limits{})
	for range 3 {
		put(t, q, Task(1))
		done(t, must(t, q))
	}
}
