// Package memory is a queue in the memory of one process: for tests, and the
// plainest statement of what a queue does.
package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"assay/internal/fleet"
)

// Queue is a fleet.Queue in memory.
type Queue struct {
	limits fleet.Limits

	mu      sync.Mutex
	entries []*entry
	changed chan struct{} // closed and replaced when a task may have become ready
	vain    map[int]func(string)
	told    int
}

// entry is a task that the queue holds.
type entry struct {
	task    fleet.Task
	lane    string
	count   int
	until   time.Time // leased, or held back, until then
	gaveUp  bool      // delivered as often as may be
	removed bool
}

// New returns an empty queue.
func New(l fleet.Limits) *Queue {
	return &Queue{limits: l.Full(), changed: make(chan struct{}), vain: map[int]func(string){}}
}

// Put queues tasks.
func (q *Queue) Put(_ context.Context, tasks ...fleet.Task) (known []string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range tasks {
		lane := t.Lane()
		switch {
		case q.find(lane, t.Key) != nil:
			known = append(known, t.Key)
		case len(q.entries) >= q.limits.Tasks:
			return known, fleet.ErrFull
		default:
			q.entries = append(q.entries, &entry{task: t, lane: lane})
		}
	}
	q.wake()
	return known, nil
}

func (q *Queue) find(lane, key string) *entry {
	i := slices.IndexFunc(q.entries, func(e *entry) bool { return e.lane == lane && e.task.Key == key })
	if i < 0 {
		return nil
	}
	return q.entries[i]
}

func (q *Queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Fetch leases the next task of the lanes.
func (q *Queue) Fetch(ctx context.Context, lanes ...string) (fleet.Delivery, error) {
	for {
		q.mu.Lock()
		d, soonest := q.next(lanes)
		changed := q.changed
		q.mu.Unlock()
		if d != nil {
			return d, nil
		}
		timer := time.NewTimer(soonest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fleet.ErrNone
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// next leases a task, or says how long none can become ready by itself.
func (q *Queue) next(lanes []string) (fleet.Delivery, time.Duration) {
	now, soonest := time.Now(), time.Hour
	for _, e := range q.entries {
		wait := e.until.Sub(now)
		switch {
		case e.gaveUp || !slices.Contains(lanes, e.lane):
		case wait > 0:
			soonest = min(soonest, wait)
		case e.count >= q.limits.Deliveries:
			e.gaveUp = true
			for _, on := range q.vain {
				go on(e.task.Key)
			}
		default:
			e.count++
			e.until = now.Add(q.limits.Lease)
			return &delivery{queue: q, entry: e, count: e.count}, 0
		}
	}
	return nil, max(soonest, time.Millisecond)
}

// Remove takes a task out.
func (q *Queue) Remove(_ context.Context, lane, key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(q.find(lane, key))
	return nil
}

func (q *Queue) remove(e *entry) {
	if e == nil || e.removed {
		return
	}
	e.removed = true
	q.entries = slices.DeleteFunc(q.entries, func(x *entry) bool { return x == e })
}

// Exhausted tells of tasks that are delivered no more.
func (q *Queue) Exhausted(ctx context.Context, on func(string)) error {
	q.mu.Lock()
	id := q.told
	q.told++
	q.vain[id] = on
	q.mu.Unlock()
	<-ctx.Done()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.vain, id)
	return nil
}

// Waiting counts the tasks of each lane.
func (q *Queue) Waiting(context.Context) (map[string]int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]int{}
	for _, e := range q.entries {
		out[e.lane]++
	}
	return out, nil
}

// Close does nothing: nothing is open.
func (q *Queue) Close() error { return nil }

// delivery is a task on lease. An old one may speak for a newer one, as in
// every queue: fencing is not the queue's.
type delivery struct {
	queue *Queue
	*entry
	count int
}

func (d *delivery) Task() fleet.Task { return d.task }
func (d *delivery) Count() int       { return d.count }

func (d *delivery) Renew(context.Context) error {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.until = time.Now().Add(d.queue.limits.Lease)
	return nil
}

func (d *delivery) Done(context.Context) error {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.queue.remove(d.entry)
	return nil
}

func (d *delivery) Return(_ context.Context, after time.Duration) error {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.until = time.Now().Add(after)
	d.queue.wake()
	return nil
}
