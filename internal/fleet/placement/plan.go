package placement

import (
	"cmp"
	"math"
	"time"
)

// draft is a plan under one order: the lists of all workers, and how it would end.
type draft struct {
	lists map[*worker][]*queued
	ends  float64 // seconds from now
}

// add puts a task at the end of a worker's list.
func (d *draft) add(kind int, q *queued, free *pool) {
	w := free.soonest(q) // there is one: the kind may have it
	end := free.take(w, q.Timed, q.seconds()/q.class.speed[kind])
	to := free.workers[w]
	d.lists[to] = append(d.lists[to], q)
	d.ends = max(d.ends, end)
}

// better reports whether the draft ends sooner, by more than roundings.
func (d draft) better(other draft) bool { return d.ends < other.ends*(1-1e-9) }

// free are the slots of every kind as they are now.
func (s *Scheduler) free(now time.Time) []*pool {
	out := make([]*pool, len(s.kinds))
	for i, k := range s.kinds {
		p := &pool{}
		for _, w := range k.workers {
			if w.Closed == "" {
				p.workers, p.slots = append(p.workers, w), append(p.slots, w.free(now))
			}
		}
		p.init()
		out[i] = p
	}
	return out
}

// free are the seconds from now at which the worker's slots become free.
func (w *worker) free(now time.Time) []float64 {
	out := make([]float64, w.slots())
	at := 0
	for _, r := range w.running {
		left := r.left(now)
		if r.task.Timed {
			for j := range out {
				out[j] = max(out[j], left)
			}
		} else if at < len(out) {
			out[at] = max(out[at], left)
			at++
		}
	}
	return out
}

// left is how many seconds a task still runs, as far as one can tell: one that takes
// longer than was expected takes a quarter longer again.
func (r *running) left(now time.Time) float64 {
	passed := max(0, now.Sub(r.since).Seconds())
	return max(r.expect-passed, passed/4)
}

// soonest puts each task, in this order, where it would finish first, among the kinds that ask
// at most so many times what the cheapest asks for it.
func (s *Scheduler) soonest(order []*queued, free []*pool, within float64) draft {
	d := draft{lists: map[*worker][]*queued{}}
	for _, q := range order {
		asks := q.asks()
		most := within * least(asks)
		best, end := -1, math.Inf(1)
		for i, speed := range q.class.speed {
			if !s.mayRun(i, q) || asks[i] > most {
				continue
			}
			if e := free[i].ready(q.Timed) + q.seconds()/speed; e < end {
				best, end = i, e
			}
		}
		if best < 0 {
			if within < math.Inf(1) {
				return draft{ends: math.Inf(1)} // the cheap ones may not have it
			}
			continue // it is stuck
		}
		d.add(best, q, free[best])
	}
	return d
}

// asks is what the kinds ask for a second of the task's work.
func (q *queued) asks() []float64 {
	if q.Timed {
		return q.class.dear[1]
	}
	return q.class.dear[0]
}

func least(asks []float64) float64 {
	out := math.Inf(1)
	for _, a := range asks {
		out = min(out, a)
	}
	return out
}

// width is how many slots a task takes: a timed one has its host to itself.
func (s *Scheduler) width(kind int, q *queued) int {
	if q.Timed {
		return s.kinds[kind].like.slots()
	}
	return 1
}

// served gives each slot that becomes free the first task that it can do: first
// come, first served, if the order is that of coming.
func (s *Scheduler) served(order []*queued, free []*pool) draft {
	d := draft{lists: map[*worker][]*queued{}}
	taken := make(map[*queued]bool, len(order))
	at := make([]int, len(s.kinds)) // in order
	for {
		best := -1
		for i := range s.kinds {
			for at[i] < len(order) && (taken[order[at[i]]] || !s.mayRun(i, order[at[i]])) {
				at[i]++
			}
			if at[i] < len(order) && (best < 0 || free[i].ready(false) < free[best].ready(false)) {
				best = i
			}
		}
		if best < 0 {
			return d
		}
		q := order[at[best]]
		taken[q] = true
		d.add(best, q, free[best])
	}
}

// order compares two tasks that are equally urgent. giant is how many seconds a task
// takes that comes before timed ones.
type order func(a, b *queued, giant float64) int

// longest is long tasks first: giants, then timed ones, for which a host that is idle anyway need
// not be waited for, then guesses, which may turn out long, then the others.
func longest(a, b *queued, giant float64) int {
	return cmp.Or(cmp.Compare(a.turn(giant), b.turn(giant)), cmp.Compare(b.quickest(), a.quickest()), a.came(b))
}

// scarcest is tasks first that few can do.
func scarcest(a, b *queued, giant float64) int {
	return cmp.Or(cmp.Compare(a.turn(giant), b.turn(giant)), cmp.Compare(a.class.able, b.class.able), longest(a, b, giant))
}

func oldest(a, b *queued, _ float64) int { return a.came(b) }

// turn is 0 for giants, 1 for timed tasks, 2 for guesses, 3 for others.
func (q *queued) turn(giant float64) int {
	switch {
	case q.Timed:
		return 1
	case q.quickest() >= giant:
		return 0
	case q.guessed():
		return 2
	}
	return 3
}

// quickest is how long a task takes where it is quickest.
func (q *queued) quickest() float64 { return q.seconds() / max(q.class.best, 1e-9) }

func (q *queued) came(other *queued) int { return cmp.Compare(q.number, other.number) }
