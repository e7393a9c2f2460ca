package coordinator

import (
	"maps"
	"slices"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/placer"
	"assay/internal/platform"
)

// dealt is a task in the queue, in the lane of the worker that is to run it.
type dealt struct {
	to    string
	at    time.Time
	begun bool
}

// deal gives tasks to workers with free slots, as the placer says.
func (x *Coordinator) deal() []fleet.Task {
	now := x.c.Now()
	if x.muster {
		x.enlist(now)
	}
	names := slices.Sorted(maps.Keys(x.present))
	var out []fleet.Task
	for len(names) > 0 { // in turns, so that nobody gets everything
		names = slices.DeleteFunc(names, func(name string) bool {
			key, ok := x.place.Next(now, name)
			if !ok {
				return true
			}
			w := x.board.Work(key)
			if w == nil || w.State != fleet.Queued {
				x.place.Remove(key)
				return false
			}
			x.dealt[key] = dealt{to: name, at: now}
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
			x.takeBack(func(key string, d dealt) bool { return d.to == name })
		}
		if !p.enlisted {
			p.enlisted = true
			for key := range x.heard {
				if w := x.board.Work(key); w.Current() != nil && w.Current().Worker == name {
					x.place.Began(now, w.Task, name)
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
			if _, there := x.dealt[key]; !there {
				x.place.Add(w.Task, next)
			}
		}
	}
}

// takeBack takes tasks that nobody has begun from their workers.
func (x *Coordinator) takeBack(which func(key string, d dealt) bool) {
	for key, d := range x.dealt {
		if w := x.board.Work(key); !d.begun && which(key, d) {
			x.undeal(w)
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

// undeal takes a task from the worker that has it, and out of the queue.
func (x *Coordinator) undeal(w *fleet.Work) {
	if d, there := x.dealt[w.Key]; there {
		x.place.Stopped(w.Key, d.to)
		delete(x.dealt, w.Key)
		x.remove(w.Task, d.to)
	}
}

func (x *Coordinator) remove(t fleet.Task, from string) {
	t.To = from
	x.out = append(x.out, t)
}

// began notes that a worker has a task, whoever it was dealt to.
func (x *Coordinator) began(w *fleet.Work, by string) {
	if d, there := x.dealt[w.Key]; there && d.to != by {
		x.undeal(w)
	}
	x.dealt[w.Key] = dealt{to: by, at: x.c.Now(), begun: true}
	x.place.Began(x.c.Now(), w.Task, by)
}

// settle forgets a task that has ended.
func (x *Coordinator) settle(w *fleet.Work) {
	delete(x.heard, w.Key)
	delete(x.bounced, w.Key)
	delete(x.dealt, w.Key)
	delete(x.choosy, w.Key)
	x.place.Remove(w.Key)
	if l := x.lanes[w.Lane()]; l != nil {
		delete(l.keys, w.Key)
	}
	x.awake() // a slot is free
}

// reconcile deals again what was dealt long ago and its worker has not begun: the queue may have lost
// it, or the worker does not fetch. Another worker gets it, if there is one.
func (x *Coordinator) reconcile(now time.Time) {
	for key, d := range x.dealt {
		w := x.board.Work(key)
		if d.begun || w.State != fleet.Queued || now.Sub(d.at) <= 4*x.c.Lease {
			continue
		}
		if not := append(w.Avoid(), d.to); x.view().Others(w, not) {
			x.undeal(w)
			x.place.Add(w.Task, not)
			x.choosy[key] = not
			x.awake()
			continue
		}
		x.again(w)
	}
}

// again takes a dealt task out of the queue and puts it into the same lane.
func (x *Coordinator) again(w *fleet.Work) {
	d := x.dealt[w.Key]
	d.at = x.c.Now()
	x.dealt[w.Key] = d
	t := w.Task
	t.To = d.to
	x.redo = append(x.redo, t)
	delete(x.bounced, w.Key)
	x.awake()
}
