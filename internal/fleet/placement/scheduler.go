package placement

import (
	"cmp"
	"slices"
	"time"
)

// Scheduler holds the queue and the workers of a fleet and says who takes what. It
// is not safe for use by several goroutines.
type Scheduler struct {
	// Copies has idle workers run copies of what runs too long elsewhere.
	Copies bool
	// Expect is asked again how long a task takes when it is given out, since more is known than when it was added. Tasks
	// that are known to be short then lie ready at workers whose slots are taken; nil gives nobody more than fits its slots.
	Expect func(id string) (takes time.Duration, guess bool)

	workers map[string]*worker
	hosts   map[string]*host
	kinds   []*kind
	prices  []float64 // by kind, of the last plan
	classes map[string]*class
	queue   map[string]*queued
	running map[string][]*running // by task: two where it has a copy
	came    int                   // tasks that were ever added

	stale   bool // workers have changed: the plan is not one any more
	added   int  // tasks since the plan
	changes int  // tasks begun or ended since the plan
	ends    time.Time
}

type worker struct {
	Worker
	kind    *kind
	list    []*queued           // what the plan gives to it, in order
	next    int                 // in list
	running map[string]*running // by task
	looked  time.Time           // for something to copy
	sought  time.Time           // something to rescue
	filling bool                // it gets tasks to lie ready until it has enough
}

// host is a machine: what runs there, from whichever worker.
type host struct {
	running int
	timed   bool
	waiting *worker // wants the host for itself, and gets it when all else has ended
}

type queued struct {
	Task
	class  *class
	number int
	gone   bool // from the queue; plans may still name it
	rank   int  // its urgency when the plan was made
}

type running struct {
	task    Task
	class   *class
	worker  *worker
	host    *host
	since   time.Time
	expect  float64 // seconds
	over    bool    // its task has its answer, and it is being stopped
	rescuer *worker // is to run a copy as soon as it can
}

// Deal is a task that a worker should run now.
type Deal struct {
	Task
	Copy  bool // it runs elsewhere already: the first answer counts
	Ahead bool // the worker has no free slot yet
}

// New returns a scheduler with neither workers nor tasks.
func New() *Scheduler {
	return &Scheduler{
		workers: map[string]*worker{}, hosts: map[string]*host{}, classes: map[string]*class{},
		queue: map[string]*queued{}, running: map[string][]*running{},
	}
}

// Join adds a worker, or changes what is known of one. What it is running goes on.
func (s *Scheduler) Join(w Worker) {
	w.Targets = slices.Clone(w.Targets)
	old := s.workers[w.ID]
	if old == nil {
		old = &worker{running: map[string]*running{}}
		s.workers[w.ID] = old
	}
	old.Worker = w
	s.stale = true
}

// Leave removes a worker and returns the tasks that it alone was running, in the order of
// their names. They are not put back: Add does that.
func (s *Scheduler) Leave(id string) []Task {
	w := s.workers[id]
	if w == nil {
		return nil
	}
	var left []Task
	for name, r := range w.running {
		if !r.over && len(s.running[name]) == 1 {
			left = append(left, r.task)
		}
		s.Stopped(name, id)
	}
	s.unwait(w)
	delete(s.workers, id)
	s.stale = true
	slices.SortFunc(left, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return left
}

// Add queues a task. One that is queued already is replaced and keeps its place; one that is
// running is left alone.
func (s *Scheduler) Add(t Task) {
	if s.runs(t.ID) {
		return
	}
	q := &queued{Task: t, class: s.classOf(&t.Needs), number: s.came}
	s.came++
	if old := s.queue[t.ID]; old != nil {
		old.gone, q.number = true, old.number
	}
	s.queue[t.ID] = q
	s.added++
}

func (s *Scheduler) classOf(n *Needs) *class {
	key := classKey(n)
	c := s.classes[key]
	if c == nil {
		c = &class{needs: *n}
		c.measure(s.kinds)
		s.classes[key] = c
	}
	return c
}

// Remove takes a task out of the queue: it was cancelled.
func (s *Scheduler) Remove(id string) {
	if q := s.queue[id]; q != nil {
		q.gone = true
		delete(s.queue, id)
	}
}

// Done says that a task does not run any more, whatever became of it.
func (s *Scheduler) Done(id string) {
	for _, r := range slices.Clone(s.running[id]) {
		s.Stopped(id, r.worker.ID)
	}
}

// Began says that a worker runs a task, whoever gave it to it.
func (s *Scheduler) Began(now time.Time, t Task, worker string) {
	w := s.workers[worker]
	if w == nil {
		return
	}
	if r := w.running[t.ID]; r != nil {
		r.since = now
		return
	}
	s.Remove(t.ID)
	target, step := fit(&w.Worker, &t.Needs)
	if step != fits {
		target = &Target{}
	}
	s.start(now, w, &t, s.classOf(&t.Needs), target)
}

// Answered says that a task has its answer. Where it still runs it is being stopped, and
// keeps its slot until then (Stopped).
func (s *Scheduler) Answered(id string) {
	for _, r := range s.running[id] {
		r.over = true
	}
}

// Stopped says that a worker does not run a task any more.
func (s *Scheduler) Stopped(id, worker string) {
	i := slices.IndexFunc(s.running[id], func(r *running) bool { return r.worker.ID == worker })
	if i < 0 {
		return
	}
	r := s.running[id][i]
	s.running[id] = slices.Delete(s.running[id], i, i+1)
	if len(s.running[id]) == 0 {
		delete(s.running, id)
	}
	delete(r.worker.running, id)
	r.host.running--
	if r.task.Timed {
		r.host.timed = false
	}
	s.changes++
}

// runs reports whether a task runs somewhere and has no answer yet.
func (s *Scheduler) runs(id string) bool {
	return slices.ContainsFunc(s.running[id], func(r *running) bool { return !r.over })
}

// Queued and Running are how many tasks wait and run.
func (s *Scheduler) Queued() int { return len(s.queue) }

// Running is how many tasks run.
func (s *Scheduler) Running() int { return len(s.running) }

// Next is what a worker with a free slot should run now, or what should lie ready at one whose slots
// are taken for a moment. It counts as running from then on. Where nothing else is left for it, it is a copy of what runs too long
// elsewhere. There is nothing where somebody else would finish sooner what there is, or
// where a timed task waits for the host to be idle: ask again when anything has changed.
func (s *Scheduler) Next(now time.Time, id string) (Deal, bool) {
	w := s.workers[id]
	if w == nil {
		return Deal{}, false
	}
	if w.Closed != "" {
		s.unwait(w)
		return Deal{}, false
	}
	if len(w.running) >= w.slots() {
		return s.ready(now, w)
	}
	if len(s.queue) == 0 {
		s.unwait(w)
		return s.copied(now, w)
	}
	if s.due() || s.head(w) == nil && s.worthwhile() {
		s.plan(now)
	}
	if d, found := s.rescued(now, w); found {
		return d, d.Copy
	}
	q := s.head(w)
	if q == nil {
		q = s.spare(w)
	}
	if q == nil {
		s.unwait(w)
		return s.copied(now, w)
	}
	s.refresh(q)
	if !s.begin(now, w, &q.Task, q.class) {
		return Deal{}, false
	}
	s.Remove(q.ID)
	return Deal{Task: q.Task}, true
}

// unwait lets others have the host that a worker wanted for itself.
func (s *Scheduler) unwait(w *worker) {
	for _, h := range s.hosts {
		if h.waiting == w {
			h.waiting = nil
		}
	}
}

// due reports whether the plan must be made again before anyone follows it.
func (s *Scheduler) due() bool { return s.stale || s.added > len(s.queue)/patience }

// worthwhile reports whether enough has happened for another plan to differ.
func (s *Scheduler) worthwhile() bool { return s.added+s.changes > len(s.queue)/patience }

// patience is the share of the queue that may change until a plan is made
// again, as a divisor: planning takes as long as the queue is.
const patience = 32

// head is the first task that the plan gives to a worker and that is still to be had.
func (s *Scheduler) head(w *worker) *queued {
	for w.next < len(w.list) && w.list[w.next].gone {
		w.next++
	}
	for _, q := range w.list[w.next:] {
		if q.gone {
			continue
		}
		if q.free() {
			return q
		}
		if _, ok := Fit(&w.Worker, &q.Task); ok {
			return q
		}
	}
	return nil
}

// spare is a task that the plan gives to another worker of the same kind, of whom most
// is left: equals help each other out until the next plan.
func (s *Scheduler) spare(w *worker) *queued {
	if w.kind == nil {
		return nil
	}
	var best *queued
	most := 0
	for _, other := range w.kind.workers {
		q := s.head(other)
		if q == nil || q.Timed || other == w || len(other.list)-other.next <= most {
			continue
		}
		if _, ok := Fit(&w.Worker, &q.Task); ok {
			best, most = q, len(other.list)-other.next
		}
	}
	return best
}

// begin starts a task on a worker, unless its host must be waited for.
func (s *Scheduler) begin(now time.Time, w *worker, t *Task, c *class) bool {
	target, ok := Fit(&w.Worker, t)
	if !ok || w.running[t.ID] != nil {
		return false // which only a stale plan has
	}
	h := s.host(w.hostOf(target))
	switch {
	case h.timed, h.waiting != nil && h.waiting != w:
		return false
	case t.Timed && h.running > 0:
		h.waiting = w
		return false
	}
	s.start(now, w, t, c, target)
	return true
}

func (s *Scheduler) start(now time.Time, w *worker, t *Task, c *class, target *Target) {
	h := s.host(w.hostOf(target))
	h.waiting = nil
	h.running++
	h.timed = t.Timed
	r := &running{task: *t, class: c, worker: w, host: h, since: now, expect: t.seconds() / target.speed()}
	s.running[t.ID] = append(s.running[t.ID], r)
	w.running[t.ID] = r
	s.changes++
}

func (s *Scheduler) host(name string) *host {
	h := s.hosts[name]
	if h == nil {
		h = &host{}
		s.hosts[name] = h
	}
	return h
}

// Ends is when everything that is queued should have ended, by the last plan; zero before the first one.
func (s *Scheduler) Ends() time.Time { return s.ends }
