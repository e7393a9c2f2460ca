package placement

import "time"

const (
	// mostReady is how many tasks lie ready for each slot of a worker. They are brought when no more than half of them are
	// left: many at once cost the queue hardly more than one.
	mostReady = 32
	// reserve is how long a slot's ready tasks take at most.
	reserve = 500 * time.Millisecond
	// stalled is how long what a worker has may take until nothing more is put beside it: the slot may be taken for long.
	stalled = 2 * time.Second
)

// ready is a short task for a worker whose slots are taken, so that it need not wait for the next one.
func (s *Scheduler) ready(now time.Time, w *worker) (Deal, bool) {
	if s.Expect == nil || len(s.queue) == 0 || s.due() || !w.wants(now) {
		return Deal{}, false
	}
	q := s.head(w)
	if q == nil || q.Timed {
		return Deal{}, false
	}
	s.refresh(q)
	if q.Guess || q.Expect <= 0 || !w.affords(q) || !s.begin(now, w, &q.Task, q.class) {
		return Deal{}, false
	}
	s.Remove(q.ID)
	return Deal{Task: q.Task, Ahead: true}, true
}

func (s *Scheduler) refresh(q *queued) {
	if s.Expect != nil {
		q.Expect, q.Guess = s.Expect(q.ID)
	}
}

// wants reports whether a worker whose slots are taken should have more.
func (w *worker) wants(now time.Time) bool {
	ready := len(w.running) - w.slots()
	if ready <= mostReady/2*w.slots() {
		w.filling = true
	}
	w.filling = w.filling && ready < mostReady*w.slots()
	if !w.filling {
		return false
	}
	for _, r := range w.running {
		if r.task.Timed || now.Sub(r.since) > stalled {
			return false
		}
	}
	return true
}

// affords reports whether a task and all that a worker has are done within the reserve.
func (w *worker) affords(q *queued) bool {
	t, ok := Fit(&w.Worker, &q.Task)
	if !ok {
		return false
	}
	all := q.seconds() / t.speed()
	for _, r := range w.running {
		all += r.expect
	}
	return all <= reserve.Seconds()*float64(w.slots())
}
