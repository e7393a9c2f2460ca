// Package placement decides which worker of a fleet takes which task next. It is
// arithmetic on values: it has no clock, opens nothing and starts nothing, so
// that the same state always gives the same answer and a simulation of a whole
// fleet is a loop.
//
// A Worker says what it has: targets with their memory, versions and measured
// speed. A Task says what it needs (Needs), how long it is expected to take
// (History) and how urgent it is. Fit compares the two, and where no worker fits,
// says in words what is missing.
//
// The Scheduler holds a queue and workers. It plans: tasks go, one after the
// other, to where they would finish first. What comes first decides how good
// that is, so several orders are tried on expected durations (long tasks first;
// tasks that few can do first; first come, first served) and the one that ends
// first is used. The plan is a list for each kind of worker, not for each
// worker, and it is made again as tasks end: expectations are wrong, and a
// plan that is followed to the letter would let workers wait for each other.
//
// A timed task has its host to itself: while one runs nothing else starts there,
// also not from another worker of that host. That is stricter than never
// two timed tasks on one device, and it is what a lab does.
//
// A worker that has nothing to do runs a copy of a task that another one still runs, if it
// is expected to end sooner: nobody knows before which of the unknown tasks is a long one, and
// whichever worker has it would be the last. The first answer counts.
//
// Priority comes before everything else. A task that waits rises by one step an
// hour (AgeStep), so that urgent tasks cannot keep it waiting for ever.
package placement

import (
	"time"

	"assay/internal/platform"
)

// AgeStep is how long a task waits until it counts as more urgent by one.
const AgeStep = time.Hour

// Target is a place where a worker can run tasks.
type Target struct {
	Target platform.Target // with its defaults filled in
	// Host is the machine that the target is part of, where that is not the
	// worker's own: a board reached over ssh, a phone.
	Host   string
	Memory int64 // of the device, in bytes; 0 is unknown
	// Speed is how many times as fast as the reference it was measured to be; 0 is
	// unknown, and counts as 1.
	Speed    float64
	Versions map[string]string
}

// Worker is a program that runs tasks on a host.
type Worker struct {
	ID      string
	Host    string // workers of one host share its devices; "" is a host of its own
	Targets []Target
	Memory  int64    // of the host, in bytes; 0 is unknown
	Slots   int      // how many tasks that are not timed it runs at once; 0 is one
	Labels  []string // what its policy allows, and whatever else tasks may ask for
	// Closed is why it takes nothing new: it is drained, or in quarantine.
	Closed string
}

// Needs are what a worker must have for a task. Zero fields ask for nothing.
type Needs struct {
	Target       platform.Target // with its defaults filled in
	DeviceMemory int64
	HostMemory   int64
	Versions     map[string]string // exact ones
	Labels       []string
	Host         string // the task names a path of this host
}

// Task is one cell to be run.
type Task struct {
	ID       string
	Needs    Needs
	Expect   time.Duration // at speed 1; 0 is unknown
	Guess    bool          // the task never ran there: Expect says little
	Priority int           // a larger one comes first
	Queued   time.Time
	Timed    bool
	Avoid    []string // workers that it failed on
}

// unknown is what a task takes of which nothing is known.
const unknown = 10 * time.Second

// brisk is how fast a worker must be for a task that is a guess, as a share of the fastest: a
// long one would keep a slow machine busy when all others have long been done.
const brisk = 0.7

// urgency is the task's priority with what waiting adds to it.
func (t *Task) urgency(now time.Time) int {
	waited := max(0, now.Sub(t.Queued)) // clocks may be set back
	if t.Queued.IsZero() {
		waited = 0
	}
	return t.Priority + int(waited/AgeStep)
}

func (t *Task) seconds() float64 {
	if t.Expect <= 0 {
		return unknown.Seconds()
	}
	return t.Expect.Seconds()
}

func (w *Worker) slots() int { return max(1, w.Slots) }

// hostOf is the host whose silicon a target is.
func (w *Worker) hostOf(t *Target) string {
	switch {
	case t.Host != "":
		return t.Host
	case w.Host != "":
		return w.Host
	}
	return "worker " + w.ID
}
