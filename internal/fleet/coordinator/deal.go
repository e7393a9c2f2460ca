package coordinator

import (
	"maps"
	"slices"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/placer"
	"assay/internal/platform"
)

// spot is a task with a worker.
type spot struct{ key, worker string }

// dealt is a task in the queue, in the lane of the worker that is to run it, or under way there.
type dealt struct {
	at    time.Time
	copy  bool // beside the worker that runs it
	ahead bool // before the worker had a free slot
	begun bool
}

func (x *Coordinator) hand(key, worker string, d dealt) {
	if x.dealt[key] == nil {
		x.dealt[key] = map[string]*dealt{}
	}
	x.dealt[key][worker] = &d
}

// deal gives tasks to workers, as the placer says.
func (x *Coordinator) deal() []fleet.Task {
	now := x.c.Now()
	if x.muster {
		x.enlist(now)
	}
	names := slices.Sorted(maps.Keys(x.present))
	var out []fleet.Task
	for len(names) > 0 { // in turns, so that nobody gets everything
		names = slices.DeleteFunc(names, func(name string) bool {
			d, ok := x.place.Next(now, name)
			if !ok {
				return true
			}
			key := d.Key
			w := x.board.Work(key)
			if d.Copy && (w == nil || !w.State.UnderWay() || !w.MayCopy(name)) {
				x.place.Stopped(key, name)
				return true
			}
			if !d.Copy && (w == nil || w.State != fleet.Queued) {
				x.place.Remove(key)
				return false
			}
			x.hand(key, name, dealt{at: now, copy: d.Copy, ahead: d.Ahead})
			t := w.Task
			t.To = name
			out = append(out, t)
			return false
		})
	}
	return out
}

// enlist tells the placer which workers are there, and what they may have.
func (x *Coordinator) enlist(now time.Time) {
	x.muster = false
	lanes := map[string]map[string]platform.Target{}
	for name, l := range x.lanes {
		for _, worker := range l.able {
			if lanes[worker] == nil {
				lanes[worker] = map[string]platform.Target{}
			}
			lanes[worker][name] = l.sample.Needs.Target
		}
	}
	for name, p := range x.present {
		m := x.board.Member(name)
		closed := ""
		switch {
		case !x.alive(name):
			closed = "it is not heard"
		case !m.Open():
			closed = "it gets no tasks"
		case x.c.CheckEvery > 0 && p.checked.IsZero():
			closed = "it has not shown that it is healthy"
		}
		x.place.Join(placer.Worker{Name: name, Where: m.Where, Slots: m.Slots, Lanes: lanes[name], Speed: m.Speed, Closed: closed})
		if closed != "" {
			x.takeBack(name)
		}
		if !p.enlisted {
			p.enlisted = true
			for s := range x.heard {
				if s.worker == name {
					x.place.Began(now, x.board.Work(s.key).Task, name)
				}
			}
		}
	}
	for key, avoid := range x.choosy { // whom to avoid depends on who else is there
		w := x.board.Work(key)
		if w == nil || w.State != fleet.Queued {
			delete(x.choosy, key)
		} else if next := x.avoid(w); !slices.Equal(avoid, next) {
			x.choosy[key] = next
			if len(x.dealt[key]) == 0 {
				x.place.Add(w.Task, next)
			}
		}
	}
}

// takeBack takes tasks that a worker has not begun from it.
func (x *Coordinator) takeBack(worker string) {
	for key, at := range x.dealt {
		if d := at[worker]; d != nil && !d.begun {
			w := x.board.Work(key)
			x.undeal(w, worker)
			x.offer(w)
		}
	}
}

// offer has the placer find a worker for a task, if it waits for one.
func (x *Coordinator) offer(w *fleet.Work) {
	if w.State != fleet.Queued {
		return
	}
	x.lane(w.Task).keys[w.Key] = true
	avoid := x.avoid(w)
	delete(x.choosy, w.Key)
	if len(w.Avoid()) > 0 {
		x.choosy[w.Key] = avoid
	}
	x.place.Add(w.Task, avoid)
	x.awake()
}

// avoid are the workers that should not have a task, as long as there are others.
func (x *Coordinator) avoid(w *fleet.Work) []string {
	if avoid := w.Avoid(); len(avoid) > 0 && x.view().Others(w, avoid) {
		return avoid
	}
	return nil
}

// undeal takes a task from a worker, and out of the queue.
func (x *Coordinator) undeal(w *fleet.Work, worker string) {
	delete(x.heard, spot{w.Key, worker})
	if x.dealt[w.Key][worker] == nil {
		return
	}
	x.place.Stopped(w.Key, worker)
	x.remove(w.Task, worker)
	if delete(x.dealt[w.Key], worker); len(x.dealt[w.Key]) == 0 {
		delete(x.dealt, w.Key)
	}
}

func (x *Coordinator) undealAll(w *fleet.Work) {
	for worker := range x.dealt[w.Key] {
		x.undeal(w, worker)
	}
}

func (x *Coordinator) remove(t fleet.Task, from string) {
	t.To = from
	x.out = append(x.out, t)
}

// began notes that a worker has a task, whoever it was dealt to.
func (x *Coordinator) began(w *fleet.Work, a fleet.Attempt) {
	if !a.Copy {
		for other := range x.dealt[w.Key] {
			if other != a.Worker {
				x.undeal(w, other)
			}
		}
	}
	x.heard[spot{w.Key, a.Worker}] = x.c.Now()
	x.hand(w.Key, a.Worker, dealt{at: x.c.Now(), copy: a.Copy, begun: true})
	x.place.Began(x.c.Now(), w.Task, a.Worker)
}

// settle forgets a task that has ended, by a worker's answer or nobody's. Others that run it are told to stop, and
// keep their slots until they have.
func (x *Coordinator) settle(w *fleet.Work, by string) {
	x.place.Answered(w.Key)
	for worker, d := range x.dealt[w.Key] {
		switch {
		case worker == by:
			x.place.Stopped(w.Key, worker)
			delete(x.heard, spot{w.Key, worker})
		case d.begun && x.alive(worker):
			delete(x.heard, spot{w.Key, worker})
			x.behind[spot{w.Key, worker}] = true
			x.remove(w.Task, worker)
			x.news = true
		default:
			x.undeal(w, worker)
		}
	}
	delete(x.dealt, w.Key)
	delete(x.bounced, w.Key)
	delete(x.choosy, w.Key)
	x.place.Drop(w.Key)
	if l := x.lanes[w.Lane()]; l != nil {
		delete(l.keys, w.Key)
	}
	x.awake() // a slot is free
}

// stopped notes which of the overtaken attempts a worker has stopped, by what it says that it runs.
func (x *Coordinator) stopped(worker string, running []fleet.Activity) {
	for s := range x.behind {
		if s.worker == worker && !slices.ContainsFunc(running, func(a fleet.Activity) bool { return a.Key == s.key }) {
			x.stop(s)
		}
	}
}

func (x *Coordinator) stop(s spot) {
	if x.behind[s] {
		delete(x.behind, s)
		x.place.Stopped(s.key, s.worker)
		x.awake()
	}
}

// enough is how long a task lies at a worker without a free slot.
const enough = 2 * time.Second

// reconcile takes back what lies ready at a worker whose slot does not become free, and deals again what was dealt long
// ago and its worker has not begun: the queue may have lost it, or the worker does not fetch. Another worker gets it, if
// there is one.
func (x *Coordinator) reconcile(now time.Time) {
	for key, at := range x.dealt {
		for worker, d := range at {
			switch waited := now.Sub(d.at); {
			case d.begun:
			case d.ahead && waited > enough:
				w := x.board.Work(key)
				x.undeal(w, worker)
				x.offer(w)
			case waited > 4*x.c.Lease:
				x.overdue(x.board.Work(key), worker)
			}
		}
	}
}

func (x *Coordinator) overdue(w *fleet.Work, worker string) {
	not := append(w.Avoid(), worker)
	switch {
	case w.State != fleet.Queued: // a copy
		x.undeal(w, worker)
	case x.view().Others(w, not):
		x.undeal(w, worker)
		x.place.Add(w.Task, not)
		x.choosy[w.Key] = not
		x.awake()
	default:
		x.again(w)
	}
}

// again takes a dealt task out of the queue and puts it into the same lane.
func (x *Coordinator) again(w *fleet.Work) {
	for worker, d := range x.dealt[w.Key] {
		if d.begun {
			continue
		}
		d.at = x.c.Now()
		t := w.Task
		t.To = worker
		x.redo = append(x.redo, t)
	}
	delete(x.bounced, w.Key)
	x.awake()
}
