package placement

import (
	"slices"
	"time"
)

const (
	// copyAfter is how long a task runs at least until it is copied: most end before.
	copyAfter = 5 * time.Second
	// lookAgain is how often an idle worker looks for something to copy.
	lookAgain = time.Second
	// ahead is by how much a copy must be expected to end sooner, as a share.
	ahead = 0.9
	// quick is how many times as fast a worker must be for a copy of a task of which nobody knows how long it takes.
	quick = 1.2
	// overdue is how many times what was expected a task runs until a copy of it goes before what waits.
	overdue = 4
)

// rescued starts a second run of a task that runs far longer than was expected, before anything that waits, on a worker that is
// brisk at it and much faster than where it runs. Of several it takes the one that has run longest: a sweep often ends with such a
// task. found says that there is one; where it is timed, the worker takes nothing else until its host is idle.
func (s *Scheduler) rescued(now time.Time, w *worker) (deal Deal, found bool) {
	if !s.Copies || now.Sub(w.sought) < lookAgain {
		return Deal{}, false
	}
	var best *running
	for _, runs := range s.running {
		r := runs[0]
		if len(runs) > 1 || !r.overdue(now) || !s.rescues(w, r) {
			continue
		}
		if best == nil || r.since.Before(best.since) || r.since.Equal(best.since) && r.task.ID < best.task.ID {
			best = r
		}
	}
	if best == nil {
		w.sought = now
		return Deal{}, false
	}
	best.rescuer = w
	if !s.begin(now, w, &best.task, best.class) {
		return Deal{}, true
	}
	return Deal{Task: best.task, Copy: true}, true
}

func (r *running) overdue(now time.Time) bool {
	passed := now.Sub(r.since)
	return !r.over && passed >= copyAfter && passed.Seconds() > overdue*r.expect
}

// rescues reports whether the worker is brisk at a task, much faster than where it runs, and no other worker keeps itself
// free for it.
func (s *Scheduler) rescues(w *worker, r *running) bool {
	if other := r.rescuer; other != nil && other != w && s.workers[other.ID] == other && other.Closed == "" {
		return false
	}
	target, ok := Fit(&w.Worker, &r.task)
	if !ok || r.worker == w || coarse(target.speed()) < brisk*r.class.best {
		return false
	}
	own, ok := Fit(&r.worker.Worker, &r.task)
	return ok && target.speed() >= quick*own.speed()
}

// copied starts a second run of a task on a worker that has nothing else to do: the one that is
// expected to end last of those that it would end sooner. What is expected of a task that
// runs far longer than was expected is worth nothing: a faster worker copies it.
func (s *Scheduler) copied(now time.Time, w *worker) (Deal, bool) {
	if !s.Copies || now.Sub(w.looked) < lookAgain {
		return Deal{}, false
	}
	w.looked = now
	var best *running
	last := 0.0
	for _, runs := range s.running {
		r := runs[0]
		if len(runs) > 1 || r.over || r.worker == w || slices.Contains(r.task.Avoid, w.ID) || now.Sub(r.since) < copyAfter {
			continue
		}
		left, sooner := s.sooner(now, r, w)
		if sooner && (left > last || left == last && best != nil && r.task.ID < best.task.ID) {
			best, last = r, left
		}
	}
	if best == nil || !s.begin(now, w, &best.task, best.class) {
		s.unwait(w)
		return Deal{}, false
	}
	return Deal{Task: best.task, Copy: true}, true
}

// sooner is how many seconds a task still runs, and whether a worker would end a copy of it before.
func (s *Scheduler) sooner(now time.Time, r *running, w *worker) (left float64, sooner bool) {
	target, ok := Fit(&w.Worker, &r.task)
	if !ok {
		return 0, false
	}
	own, ok := Fit(&r.worker.Worker, &r.task)
	if !ok { // its worker is closed
		own = target
	}
	faster := target.speed() / own.speed()
	passed := now.Sub(r.since).Seconds()
	left = r.left(now)
	if r.task.Guess || r.task.Expect <= 0 || passed > 2*r.expect { // it may be a long one
		return max(left, passed), faster >= quick
	}
	return left, (passed+left)/faster < ahead*left
}
