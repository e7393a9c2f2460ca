// Package placer is how a coordinator places tasks: what it has learnt of
// durations and of workers' speeds decides which task of a lane is handed out next, and
// whether a slow worker leaves a task to a fast one that is idle.
//
// Workers fetch from lanes, so that the decision is about one worker and one task at a time;
// placement.Scheduler, which plans for the whole fleet at once, would need tasks to be handed to
// workers by name.
package placer

import (
	"cmp"
	"math"
	"slices"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/coordinator"
	"assay/internal/fleet/placement"
)

// Placer is a coordinator.Placer. The zero value knows nothing and is ready to use.
type Placer struct {
	history placement.History
	speeds  map[string]float64 // by worker and target, measured: 1 is what the history is brought to
	fastest map[string]float64 // by target
	left    map[string]int     // how often a task was left to others
}

const (
	// much is how many times as fast another worker must be for a task to be left to it.
	much = 2
	// atMost is how often a task is left to others: they may not come.
	atMost = 2
	// moment is how long it is left each time: an idle worker fetches at once.
	moment = 300 * time.Millisecond
	// short is what a task takes that is not worth leaving to anybody.
	short = 2 * time.Second
	// newest is the weight of the last duration in a worker's speed.
	newest = 0.2
)

// Order sorts the tasks of a lane: urgent ones first, where an hour of waiting counts as a step of
// priority; then timed ones, then long ones.
func (p *Placer) Order(tasks []fleet.Task, now time.Time) {
	type rank struct {
		urgency int
		timed   int
		expect  time.Duration
	}
	ranks := make(map[string]rank, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		r := rank{urgency: t.Priority + int(max(0, now.Sub(t.Queued))/placement.AgeStep)}
		if t.Timed() {
			r.timed = 1
		}
		r.expect, _ = p.history.Expect(t.Cell, t.How.Timing)
		ranks[t.Key] = r
	}
	slices.SortStableFunc(tasks, func(a, b fleet.Task) int {
		x, y := ranks[a.Key], ranks[b.Key]
		return cmp.Or(cmp.Compare(y.urgency, x.urgency), cmp.Compare(y.timed, x.timed), cmp.Compare(y.expect, x.expect))
	})
}

// Wait is how long a worker leaves a task to others: a moment, where one that is much faster has nothing to
// do, and a few times at most.
func (p *Placer) Wait(t fleet.Task, worker string, able func() []coordinator.Able, _ time.Time) time.Duration {
	if expect, _ := p.history.Expect(t.Cell, t.How.Timing); expect < short {
		return 0
	}
	own := p.speed(t, worker)
	if own*much > p.fastest[t.Needs.Target.String()] { // nobody is much faster: the usual case, and thousands are not asked
		delete(p.left, t.Key)
		return 0
	}
	faster := slices.ContainsFunc(able(), func(a coordinator.Able) bool {
		return a.Worker != worker && len(a.Busy) == 0 && p.speed(t, a.Worker) >= much*own
	})
	if !faster || p.left[t.Key] >= atMost {
		delete(p.left, t.Key)
		return 0
	}
	if p.left == nil {
		p.left = map[string]int{}
	}
	p.left[t.Key]++
	return moment
}

// Learn hears how long a task took. What a worker took for what others have run before says how fast
// it is.
func (p *Placer) Learn(t fleet.Task, worker string, took time.Duration) {
	if took <= 0 {
		return
	}
	if p.speeds == nil {
		p.speeds, p.fastest = map[string]float64{}, map[string]float64{}
	}
	key := speedKey(t, worker)
	if expect, guess := p.history.Expect(t.Cell, t.How.Timing); !guess && expect > 0 {
		was := p.speed(t, worker)
		seen := expect.Seconds() / took.Seconds()
		p.speeds[key] = math.Exp((1-newest)*math.Log(was) + newest*math.Log(seen))
		target := t.Needs.Target.String()
		p.fastest[target] = max(p.fastest[target], p.speeds[key], 1)
	}
	p.history.Learn(t.Cell, t.How.Timing, p.speed(t, worker), took)
}

func (p *Placer) speed(t fleet.Task, worker string) float64 {
	if s, known := p.speeds[speedKey(t, worker)]; known {
		return s
	}
	return 1
}

func speedKey(t fleet.Task, worker string) string { return worker + " " + t.Needs.Target.String() }
