// Package simulation lets a fleet that does not exist work through a queue, to
// see how good placement is. Only the machines are imagined: the
// durations are those of real journals, and the scheduler is the coordinator's own.
//
// A Setting says how large a fleet is, how many tasks it has and how much is
// known of them; a Workload is drawn from a setting by a seed. Run carries a
// workload out under a Policy and returns when it ended. It watches the rules itself and
// does not trust the policy: a task on a worker that cannot run it, two at once in a slot, or
// anything beside a timed task is an error, not a good result.
//
// Bound is a time that no policy can beat. It knows all the true durations in advance
// and may cut tasks into pieces, so the best possible schedule is somewhere
// above it; how far is not known.
package simulation

import (
	"container/heap"
	"fmt"
	"time"

	"assay/internal/fleet/placement"
)

// Job is a task and how long it really takes at speed 1, which no policy is told.
type Job struct {
	placement.Task
	Takes float64 // seconds
}

// Workload is a fleet and what it has to do, all of it queued at the start.
type Workload struct {
	Workers []placement.Worker
	Jobs    []Job
}

// Policy says what a worker with a free slot runs.
type Policy interface {
	// Next is a task's index, or false where the worker should wait.
	Next(now time.Time, worker int) (job int, ok bool)
	// Done says that a task has ended.
	Done(job int)
}

// seconds is how long a job takes on a worker.
func (w *Workload) seconds(job, worker int) (float64, bool) {
	t, ok := placement.Fit(&w.Workers[worker], &w.Jobs[job].Task)
	if !ok {
		return 0, false
	}
	return w.Jobs[job].Takes / speedOf(t), true
}

func speedOf(t *placement.Target) float64 {
	if t.Speed <= 0 {
		return 1
	}
	return t.Speed
}

type ending struct {
	at          float64
	job, worker int
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push is heap.Interface's.
func (e *endings) Push(x any) { *e = append(*e, x.(ending)) }

// Pop is heap.Interface's.
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// world is a simulation under way.
type world struct {
	load    *Workload
	policy  Policy
	start   time.Time
	now     float64
	busy    []int  // tasks by worker
	timed   []bool // whether one of them is timed
	begun   []bool // by job
	ends    endings
	finish  float64
	started int
}

// Run carries the workload out and returns how many seconds that takes.
func Run(load *Workload, policy Policy, start time.Time) (float64, error) {
	w := &world{load: load, policy: policy, start: start, busy: make([]int, len(load.Workers)), timed: make([]bool, len(load.Workers)), begun: make([]bool, len(load.Jobs))}
	for {
		if err := w.fill(); err != nil {
			return 0, err
		}
		if len(w.ends) == 0 {
			break
		}
		w.step()
	}
	if w.started < len(load.Jobs) {
		return 0, fmt.Errorf("the policy left %d of %d tasks, with every worker idle", len(load.Jobs)-w.started, len(load.Jobs))
	}
	return w.finish, nil
}

// fill asks for every free slot until nobody wants anything.
func (w *world) fill() error {
	for changed := true; changed; {
		changed = false
		for i := range w.load.Workers {
			if w.timed[i] || w.busy[i] >= max(1, w.load.Workers[i].Slots) {
				continue
			}
			job, ok := w.policy.Next(w.start.Add(time.Duration(w.now*float64(time.Second))), i)
			if !ok {
				continue
			}
			if err := w.begin(job, i); err != nil {
				return err
			}
			changed = true
		}
	}
	return nil
}

func (w *world) begin(job, worker int) error {
	takes, ok := w.load.seconds(job, worker)
	timed := w.load.Jobs[job].Timed
	switch {
	case w.begun[job]:
		return fmt.Errorf("task %d was begun twice", job)
	case !ok:
		return fmt.Errorf("task %d was given to worker %d, which cannot run it", job, worker)
	case timed && w.busy[worker] > 0:
		return fmt.Errorf("timed task %d was begun on worker %d beside %d others", job, worker, w.busy[worker])
	}
	w.begun[job], w.timed[worker] = true, timed
	w.busy[worker]++
	w.started++
	heap.Push(&w.ends, ending{w.now + takes, job, worker})
	return nil
}

// step goes on to the next end of a task, and of those that end at that very moment.
func (w *world) step() {
	w.now = w.ends[0].at
	for len(w.ends) > 0 && w.ends[0].at <= w.now {
		e, _ := heap.Pop(&w.ends).(ending)
		w.busy[e.worker]--
		w.timed[e.worker] = false
		w.finish = e.at
		w.policy.Done(e.job)
	}
}
