// Package simulation lets a fleet that does not exist work through a queue, to
// see how good placement is. Only the machines are imagined: the
// durations are those of real journals, and the scheduler is the coordinator's own.
//
// A Setting says how large a fleet is, how many tasks it has and how much is
// known of them; a Workload is drawn from a setting by a seed. Run carries a
// workload out under a Policy and returns when it ended. It watches the rules itself and
// does not trust the policy: a task on a worker that cannot run it, two at once in a slot, a third
// run of a task, or anything beside a timed task is an error, not a good result.
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
	// Next is a task's index, or false where the worker should wait. One that runs elsewhere
	// already is a copy: the first that ends counts, and the other one is stopped.
	Next(now time.Time, worker int) (job int, ok bool)
	// Done says that a task has ended, or was stopped, on a worker.
	Done(job, worker int)
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

// stopping is how many seconds a worker goes on with a task that another one has ended: it may still end it, and
// says so with its next beat.
const stopping = 10

// second is how often idle workers ask again, whatever happens.
const second = 1

// run is a task on a worker.
type run struct {
	ends        float64
	job, worker int
	stopped     bool
}

// runs is a heap: what ends first is first.
type runs []*run

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return r[i].ends < r[j].ends }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }

// Push is heap.Interface's.
func (r *runs) Push(x any) { *r = append(*r, x.(*run)) }

// Pop is heap.Interface's.
func (r *runs) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}

// world is a simulation under way.
type world struct {
	load   *Workload
	policy Policy
	start  time.Time
	now    float64
	busy   []int    // tasks by worker
	timed  []bool   // whether one of them is timed
	begun  [][]*run // by job
	ended  []bool   // by job
	runs   runs
	made   Course
}

// Course is what became of a workload.
type Course struct {
	Seconds float64 // until the last task had ended
	Ended   int     // tasks
	Copies  int     // second runs of tasks
}

// Run carries the workload out.
func Run(load *Workload, policy Policy, start time.Time) (Course, error) {
	w := &world{load: load, policy: policy, start: start, busy: make([]int, len(load.Workers)), timed: make([]bool, len(load.Workers)), begun: make([][]*run, len(load.Jobs)), ended: make([]bool, len(load.Jobs))}
	for {
		if err := w.fill(); err != nil {
			return w.made, err
		}
		if len(w.runs) == 0 || w.made.Ended == len(load.Jobs) {
			break
		}
		w.step()
	}
	if left := len(load.Jobs) - w.made.Ended; left > 0 {
		return w.made, fmt.Errorf("the policy left %d of %d tasks, with every worker idle", left, len(load.Jobs))
	}
	return w.made, nil
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
	before := w.begun[job]
	switch {
	case w.ended[job]:
		return fmt.Errorf("task %d was begun after it had ended", job)
	case len(before) > 1:
		return fmt.Errorf("task %d was begun for the third time", job)
	case len(before) == 1 && before[0].worker == worker:
		return fmt.Errorf("task %d was begun twice on worker %d", job, worker)
	case !ok:
		return fmt.Errorf("task %d was given to worker %d, which cannot run it", job, worker)
	case timed && w.busy[worker] > 0:
		return fmt.Errorf("timed task %d was begun on worker %d beside %d others", job, worker, w.busy[worker])
	}
	r := &run{ends: w.now + takes, job: job, worker: worker}
	w.begun[job], w.timed[worker] = append(before, r), timed
	w.busy[worker]++
	w.made.Copies += len(before)
	heap.Push(&w.runs, r)
	return nil
}

// step goes on to the next end of a task, and of those that end at that very moment; or for a second,
// where nothing ends before.
func (w *world) step() {
	w.now = min(w.runs[0].ends, w.now+second)
	for len(w.runs) > 0 && w.runs[0].ends <= w.now {
		r, _ := heap.Pop(&w.runs).(*run)
		w.busy[r.worker]--
		w.timed[r.worker] = false
		if !r.stopped {
			w.ended[r.job] = true
			w.made.Ended++
			w.made.Seconds = r.ends
			for _, other := range w.begun[r.job] {
				if other != r {
					other.ends, other.stopped = w.now+stopping, true
				}
			}
			heap.Init(&w.runs)
		}
		w.policy.Done(r.job, r.worker)
	}
}
