package placement

import (
	"container/heap"
	"math"
	"slices"
)

// pool is when the slots of a kind's workers become free, in seconds from now.
type pool struct {
	workers     []*worker
	slots       [][]float64 // by worker
	first, last []float64   // the worker's earliest and latest
	order       []int       // workers by first: a heap
	place       []int       // of a worker in order
}

func (p *pool) init() {
	n := len(p.slots)
	p.first, p.last, p.order, p.place = make([]float64, n), make([]float64, n), make([]int, n), make([]int, n)
	for w, s := range p.slots {
		p.first[w], p.last[w], p.order[w], p.place[w] = slices.Min(s), slices.Max(s), w, w
	}
	heap.Init(p)
}

// clone is a copy to plan with.
func (p *pool) clone() *pool {
	c := &pool{workers: p.workers, slots: make([][]float64, len(p.slots))}
	for i := range p.slots {
		c.slots[i] = slices.Clone(p.slots[i])
	}
	c.init()
	return c
}

// ready is when a slot is free, or for a timed task a whole worker; never where there is none.
func (p *pool) ready(timed bool) float64 {
	switch {
	case len(p.order) == 0:
		return math.Inf(1)
	case timed:
		return p.last[p.idlest()]
	}
	return p.first[p.order[0]]
}

// idlest is the worker whose last slot is free first.
func (p *pool) idlest() int {
	best := 0
	for w := range p.last {
		if p.last[w] < p.last[best] {
			best = w
		}
	}
	return best
}

// soonest is the worker that is ready first for a task: one of those that may have it, where not all may.
func (p *pool) soonest(q *queued) int {
	if q.free() {
		if q.Timed {
			return p.idlest()
		}
		return p.order[0]
	}
	at := p.first
	if q.Timed {
		at = p.last
	}
	best := -1
	for w, worker := range p.workers {
		if _, ok := Fit(&worker.Worker, &q.Task); ok && (best < 0 || at[w] < at[best]) {
			best = w
		}
	}
	return best
}

// take uses a worker's slot, or for a timed task all of them, for so long, and returns when that ends.
func (p *pool) take(w int, timed bool, seconds float64) (end float64) {
	if timed {
		end = p.last[w] + seconds
		for i := range p.slots[w] {
			p.slots[w][i] = end
		}
	} else {
		s := p.slots[w]
		i := slices.Index(s, p.first[w])
		s[i] += seconds
		end = s[i]
	}
	p.first[w], p.last[w] = slices.Min(p.slots[w]), slices.Max(p.slots[w])
	heap.Fix(p, p.place[w])
	return end
}

// Len is heap.Interface's, as the next four are.
func (p *pool) Len() int { return len(p.order) }

// Less compares two workers.
func (p *pool) Less(i, j int) bool { return p.first[p.order[i]] < p.first[p.order[j]] }

// Swap swaps two workers.
func (p *pool) Swap(i, j int) {
	p.order[i], p.order[j] = p.order[j], p.order[i]
	p.place[p.order[i]], p.place[p.order[j]] = i, j
}

// Push is not used: workers neither come nor go while a plan is made.
func (p *pool) Push(any) {}

// Pop is not used.
func (p *pool) Pop() any { return nil }
