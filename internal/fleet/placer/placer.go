// Package placer gives the tasks of a fleet to its workers: a placement.Scheduler, the one that
// is simulated, with what a coordinator has learnt of durations and of workers' speeds.
//
// What a worker may run is the coordinator's to judge (lanes); the scheduler is told, and sees no
// targets but those.
package placer

import (
	"maps"
	"math"
	"slices"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/placement"
	"assay/internal/platform"
)

// Worker is one as the placer needs to know it.
type Worker struct {
	Name   string
	Where  string // workers of one machine have the same
	Slots  int
	Lanes  map[string]platform.Target // that it may have tasks from
	Speed  map[string]float64         // that it announces, by target
	Closed string                     // why it gets nothing new
}

// Deal is a task that a worker should have.
type Deal struct {
	Key   string
	Copy  bool // it runs elsewhere already
	Ahead bool // the worker's slots are taken for a moment
}

// Placer is for one goroutine at a time.
type Placer struct {
	scheduler *placement.Scheduler
	history   placement.History
	workers   map[string]Worker
	speeds    map[place]float64 // measured: 1 is what the history is brought to
	told      map[place]float64 // speeds that the scheduler knows
}

type place struct{ worker, target string }

const (
	// newest is the weight of the last duration in a worker's speed.
	newest = 0.2
	// differs is by how much a speed must have changed for plans to change.
	differs = 0.2
	// telling is how long a task must take to tell anything about a worker's speed.
	telling = 500 * time.Millisecond
)

// New returns a placer that knows nothing. It asks for a task by its key.
func New(task func(key string) (fleet.Task, bool)) *Placer {
	p := &Placer{scheduler: placement.New(), workers: map[string]Worker{}, speeds: map[place]float64{}, told: map[place]float64{}}
	p.scheduler.Copies = true
	p.scheduler.Expect = func(key string) (time.Duration, bool) {
		t, ok := task(key)
		if !ok {
			return 0, true
		}
		return p.history.Expect(t.Cell, t.How.Timing)
	}
	return p
}

// Join adds a worker, or changes what is known of one.
func (p *Placer) Join(w Worker) {
	old, known := p.workers[w.Name]
	if known && old.Where == w.Where && old.Slots == w.Slots && old.Closed == w.Closed && maps.Equal(old.Lanes, w.Lanes) {
		return
	}
	p.workers[w.Name] = w
	for target, speed := range w.Speed {
		if at := (place{w.Name, target}); p.speeds[at] == 0 && speed > 0 {
			p.speeds[at] = speed
		}
	}
	p.join(w)
}

func (p *Placer) join(w Worker) {
	out := placement.Worker{ID: w.Name, Host: w.Where, Slots: w.Slots, Closed: w.Closed}
	for _, lane := range slices.Sorted(maps.Keys(w.Lanes)) {
		t := w.Lanes[lane]
		at := place{w.Name, t.String()}
		p.told[at] = p.speed(at)
		out.Targets = append(out.Targets, placement.Target{Target: t, Speed: p.told[at], Versions: laneAs(lane)})
	}
	p.scheduler.Join(out)
}

// laneAs has a lane be what is needed of a target, and had by it.
func laneAs(lane string) map[string]string { return map[string]string{"lane": lane} }

// Leave removes a worker. What it was running is forgotten: Add puts it back.
func (p *Placer) Leave(name string) {
	delete(p.workers, name)
	p.scheduler.Leave(name)
}

// Add queues a task, which goes to none of the workers to avoid.
func (p *Placer) Add(t fleet.Task, avoid []string) { p.scheduler.Add(p.task(t, avoid)) }

func (p *Placer) task(t fleet.Task, avoid []string) placement.Task {
	expect, guess := p.history.Expect(t.Cell, t.How.Timing)
	return placement.Task{
		ID: t.Key, Needs: placement.Needs{Target: t.Needs.Target, Versions: laneAs(t.Lane())},
		Expect: expect, Guess: guess, Priority: t.Priority, Queued: t.Queued, Timed: t.Timed(), Avoid: avoid,
	}
}

// Remove takes a task out, wherever it is.
func (p *Placer) Remove(key string) {
	p.scheduler.Remove(key)
	p.scheduler.Done(key)
}

// Began says that a worker runs a task, which Next need not have given to it.
func (p *Placer) Began(now time.Time, t fleet.Task, worker string) {
	p.scheduler.Began(now, p.task(t, nil), worker)
}

// Stopped says that a worker does not run a task any more, or has not begun it.
func (p *Placer) Stopped(key, worker string) { p.scheduler.Stopped(key, worker) }

// Next is the task that a worker should have now; it counts as running there.
func (p *Placer) Next(now time.Time, worker string) (Deal, bool) {
	d, ok := p.scheduler.Next(now, worker)
	return Deal{d.ID, d.Copy, d.Ahead}, ok
}

// Answered says that a task has its answer: those that still run it are being stopped.
func (p *Placer) Answered(key string) { p.scheduler.Answered(key) }

// Drop takes a task out of the queue. Those that run it keep their slots.
func (p *Placer) Drop(key string) { p.scheduler.Remove(key) }

// Learn hears how long a task took. What a worker took for what others have run before says how fast
// it is.
func (p *Placer) Learn(t fleet.Task, worker string, took time.Duration) {
	if took <= 0 {
		return
	}
	at := place{worker, t.Needs.Target.String()}
	if expect, guess := p.history.Expect(t.Cell, t.How.Timing); !guess && expect >= telling && took >= telling {
		seen := expect.Seconds() / took.Seconds()
		p.speeds[at] = math.Exp((1-newest)*math.Log(p.speed(at)) + newest*math.Log(seen))
		if w, known := p.workers[worker]; known && math.Abs(math.Log(p.speeds[at]/max(p.told[at], 1e-9))) > differs {
			p.join(w)
		}
	}
	p.history.Learn(t.Cell, t.How.Timing, p.speed(at), took)
}

func (p *Placer) speed(at place) float64 {
	if s := p.speeds[at]; s > 0 {
		return s
	}
	return 1
}
