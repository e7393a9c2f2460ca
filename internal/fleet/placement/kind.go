package placement

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// kind is a set of workers that can do the same equally fast. Planning looks
// at kinds, of which there are few, however many workers have joined.
type kind struct {
	key     string
	like    *Worker // any of them
	workers []*worker
}

// stepsPerOctave is how finely measured speeds are told apart: by 9 %.
const stepsPerOctave = 8

func coarse(speed float64) float64 {
	return math.Exp2(math.Round(math.Log2(speed)*stepsPerOctave) / stepsPerOctave)
}

// kindKey is equal for workers of a kind.
func kindKey(w *Worker) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %q\n", w.Memory, w.slots(), slices.Sorted(slices.Values(w.Labels)))
	lines := make([]string, len(w.Targets))
	local := false
	for i := range w.Targets {
		t := &w.Targets[i]
		lines[i] = fmt.Sprintf("%s@%s %d %.3f %s", t.Target, t.Target.Browser, t.Memory, coarse(t.speed()), versions(t.Versions))
		local = local || t.Host != ""
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, "\n"))
	if local { // its targets are on hosts of their own
		b.WriteString("\n" + w.ID)
	}
	return b.String()
}

func versions(v map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		b.WriteString(name + "=" + v[name] + " ")
	}
	return b.String()
}

// classKey is equal for tasks with the same needs.
func classKey(n *Needs) string {
	return fmt.Sprintf("%s@%s %d %d %s %q %q", n.Target, n.Target.Browser, n.DeviceMemory, n.HostMemory,
		versions(n.Versions), slices.Sorted(slices.Values(n.Labels)), n.Host)
}

// class is tasks with the same needs: what each kind of worker makes of them.
type class struct {
	needs Needs
	// speed by kind, in the order of the scheduler's kinds; 0 where it cannot.
	speed []float64
	best  float64 // the largest speed
	// dear is what the kinds ask for a second of its work, in shares of the whole fleet's
	// time, by whether the task is timed; see Prices.
	dear [2][]float64
	able float64 // slots of all kinds that can, times their speed: how scarce they are
}

// measure fills in what the kinds make of the class.
func (c *class) measure(kinds []*kind) {
	c.speed, c.best, c.able = make([]float64, len(kinds)), 0, 0
	for i, k := range kinds {
		open := k.open()
		if open == 0 {
			continue
		}
		t, step := fit(k.like, &c.needs)
		if step == lacksHost { // which differs within a kind
			t, step = k.onHost(&c.needs)
		}
		if step != fits {
			continue
		}
		c.speed[i] = coarse(t.speed())
		c.best = max(c.best, c.speed[i])
		c.able += c.speed[i] * float64(open*k.like.slots())
	}
}

func (k *kind) open() int {
	n := 0
	for _, w := range k.workers {
		if w.Closed == "" {
			n++
		}
	}
	return n
}

// onHost is the fit of the worker that is on the host which the needs name.
func (k *kind) onHost(n *Needs) (*Target, int) {
	for _, w := range k.workers {
		if t, step := fit(&w.Worker, n); step == fits && w.Closed == "" {
			return t, step
		}
	}
	return nil, lacksHost
}

// mayRun reports whether the task may be planned for the i-th kind: it can be run there, it is no
// guess or the kind is fast at it, and some open worker of the kind may have it: it did not
// fail on all of them, and is not tied to another's host.
func (s *Scheduler) mayRun(i int, q *queued) bool {
	speed := q.class.speed[i]
	switch {
	case speed == 0, q.guessed() && !q.Timed && speed < brisk*q.class.best:
		return false
	case q.free():
		return true
	}
	return slices.ContainsFunc(s.kinds[i].workers, func(w *worker) bool {
		_, ok := Fit(&w.Worker, &q.Task)
		return ok
	})
}

// guessed reports whether little is known of how long the task takes. One that has failed
// somewhere may go anywhere: there may be only slow workers left for it.
func (q *queued) guessed() bool {
	return (q.Guess || q.Expect <= 0) && q.free()
}

// free reports whether any worker of a kind may have the task.
func (q *queued) free() bool { return len(q.Avoid) == 0 && q.Needs.Host == "" }
