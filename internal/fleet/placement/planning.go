package placement

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// plan makes the lists of all workers anew.
func (s *Scheduler) plan(now time.Time) {
	s.sortKinds()
	for _, c := range s.classes {
		c.measure(s.kinds)
	}
	waiting := make([]*queued, 0, len(s.queue))
	for _, q := range s.queue {
		q.rank = q.urgency(now)
		waiting = append(waiting, q)
	}
	best := s.drafted(waiting, now)
	for _, w := range s.workers {
		w.list, w.next = best.lists[w], 0
	}
	s.stale, s.added, s.changes = false, 0, 0
	s.ends = now.Add(time.Duration(best.ends * float64(time.Second)))
}

// way is one way to plan: an order of tasks that are equally urgent, and how they are
// given out.
type way struct {
	order order
	// giant is what a task must take, as a share of the whole, to come before timed ones.
	giant  float64
	within float64 // how much dearer than the cheapest a place may be; 0 serves those who come first
}

// ways are all tried. The first wins ties.
var ways = []way{
	{longest, 0.25, 1.05}, {longest, 0.25, 1.25}, {longest, 0.25, 2}, {longest, 0.25, math.Inf(1)},
	{longest, 0.5, 1.05}, {longest, 0.5, 1.25}, {longest, 0.5, 2},
	{longest, 0.1, 1.05}, {longest, 0.1, 1.25}, {longest, 0.1, 2},
	{longest, math.Inf(1), 1.05}, {longest, math.Inf(1), 1.25}, {longest, math.Inf(1), 2}, {longest, math.Inf(1), math.Inf(1)},
	{scarcest, 0.5, math.Inf(1)}, {oldest, 0, math.Inf(1)}, {oldest, 0, 0},
}

// drafted is the best of the plans.
func (s *Scheduler) drafted(waiting []*queued, now time.Time) draft {
	whole := s.price(waiting)
	free := s.free(now)
	best := draft{ends: math.Inf(1)}
	for _, w := range ways {
		giant := w.giant * whole
		slices.SortFunc(waiting, func(a, b *queued) int { return cmp.Or(cmp.Compare(b.rank, a.rank), w.order(a, b, giant)) })
		fresh := make([]*pool, len(free))
		for i := range free {
			fresh[i] = free[i].clone()
		}
		d := s.served
		if w.within > 0 {
			d = func(order []*queued, free []*pool) draft { return s.soonest(order, free, w.within) }
		}
		if d := d(waiting, fresh); best.lists == nil || d.better(best) {
			best = d
		}
	}
	return best
}

// price finds what the kinds ask for the tasks that wait, and how many seconds all of
// them take at least.
func (s *Scheduler) price(waiting []*queued) float64 {
	const rounds = 200
	capacity := make([]float64, len(s.kinds))
	for i, k := range s.kinds {
		capacity[i] = float64(max(1, k.open()) * k.like.slots())
	}
	type row struct {
		class *class
		timed int
	}
	rows := map[row]int{}
	var work []float64
	var cost [][]float64
	for _, q := range waiting {
		r := row{q.class, 0}
		if q.Timed {
			r.timed = 1
		}
		i, known := rows[r]
		if !known {
			if q.class.best == 0 {
				continue // it is stuck
			}
			i = len(work)
			rows[r] = i
			work, cost = append(work, 0), append(cost, s.costs(q))
		}
		work[i] += q.seconds()
	}
	whole := 0.0
	for _, q := range waiting {
		if q.class.best > 0 {
			whole = max(whole, q.quickest())
		}
	}
	s.prices = Prices(work, cost, capacity, s.prices, rounds)
	for r, i := range rows {
		dear := make([]float64, len(s.kinds))
		for k := range dear {
			dear[k] = cost[i][k] * s.prices[k]
		}
		r.class.dear[r.timed] = dear
	}
	return max(whole, Worth(work, cost, s.prices))
}

// costs are the slot seconds of a second of a task's work.
func (s *Scheduler) costs(q *queued) []float64 {
	out := make([]float64, len(s.kinds))
	for i, speed := range q.class.speed {
		out[i] = math.Inf(1)
		if speed > 0 {
			out[i] = float64(s.width(i, q)) / speed
		}
	}
	return out
}

// sortKinds puts the workers into their kinds, in an order that does not
// depend on who joined first.
func (s *Scheduler) sortKinds() {
	if !s.stale && s.kinds != nil {
		return
	}
	by := map[string]*kind{}
	for _, id := range slices.Sorted(maps.Keys(s.workers)) {
		w := s.workers[id]
		key := kindKey(&w.Worker)
		k := by[key]
		if k == nil {
			k = &kind{key: key, like: &w.Worker}
			by[key] = k
		}
		k.workers = append(k.workers, w)
		w.kind = k
	}
	s.kinds = s.kinds[:0]
	for _, key := range slices.Sorted(maps.Keys(by)) {
		s.kinds = append(s.kinds, by[key])
	}
}

// Stuck are the queued tasks that no worker can run, in the order in which they came.
func (s *Scheduler) Stuck() []Stuck {
	workers := make([]*Worker, 0, len(s.workers))
	for _, id := range slices.Sorted(maps.Keys(s.workers)) {
		workers = append(workers, &s.workers[id].Worker)
	}
	known := map[*class][]string{} // of tasks that avoid nobody
	var found []*queued
	missing := map[*queued][]string{}
	for _, q := range s.queue {
		lacks, seen := known[q.class]
		if !seen || len(q.Avoid) > 0 {
			lacks = Lacking(workers, &q.Task)
			if len(q.Avoid) == 0 {
				known[q.class] = lacks
			}
		}
		if len(lacks) > 0 {
			found, missing[q] = append(found, q), lacks
		}
	}
	slices.SortFunc(found, (*queued).came)
	out := make([]Stuck, len(found))
	for i, q := range found {
		out[i] = Stuck{Task: q.ID, Missing: missing[q]}
	}
	return out
}
