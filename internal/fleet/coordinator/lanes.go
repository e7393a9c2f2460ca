package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/fleet"
)

// lane is the tasks of one kind of needs.
type lane struct {
	name     string
	sample   fleet.Task
	backlog  []string             // keys that wait to be released, the next first
	sorted   bool                 // backlog is in order
	released map[string]time.Time // keys that the queue should have, or a worker has
	window   int                  // how many are released at a time
	able     []string             // workers that may fetch, as last judged
	fit      fleet.Fit            // that they have
	since    time.Time            // since when nobody may; zero when somebody may
	missing  string
}

// leastWindow is how many tasks of a lane are in the queue at least. A larger
// window costs order: what is released is run first come, first served.
const leastWindow = 64

func (x *Coordinator) lane(t fleet.Task) *lane {
	name := t.Lane()
	l := x.lanes[name]
	if l == nil {
		l = &lane{name: name, sample: t, released: map[string]time.Time{}, window: leastWindow, since: x.c.Now()}
		x.lanes[name] = l
		x.judge(l, x.c.Now())
		x.news = true
	}
	return l
}

// wait adds a task that is to be released.
func (l *lane) wait(key string) {
	l.backlog = append(l.backlog, key)
	l.sorted = false
}

// empty reports whether nothing of the lane is left to do.
func (l *lane) empty() bool { return len(l.backlog) == 0 && len(l.released) == 0 }

// alive reports whether a worker was heard within its lease.
func (x *Coordinator) alive(name string) bool {
	p := x.present[name]
	return p != nil && x.c.Now().Sub(p.seen) < x.c.Lease
}

// judgeLanes finds out who may fetch from which lane.
func (x *Coordinator) judgeLanes(now time.Time) {
	for name, l := range x.lanes {
		if l.empty() {
			delete(x.lanes, name)
			continue
		}
		before := l.able
		x.judge(l, now)
		if !slices.Equal(before, l.able) {
			x.news = true
			x.awake()
		}
	}
}

// judge finds out who may fetch from a lane: those that have the target; where
// there are none for a while, those that can derive a verdict, or have a
// fallback.
func (x *Coordinator) judge(l *lane, now time.Time) {
	fits := map[fleet.Fit][]string{}
	var lacks []string
	slots := 0
	for _, m := range x.board.Members() {
		if !x.alive(m.Worker) || !m.Open() {
			continue
		}
		fit, missing := m.Suits(l.sample)
		if fit != fleet.Direct {
			lacks = append(lacks, m.Worker+" lacks "+missing)
		}
		if fit != fleet.Unfit {
			fits[fit] = append(fits[fit], m.Worker)
			slots += m.Slots
		}
	}
	l.fit, l.able = fleet.Unfit, nil
	l.window = max(leastWindow, 4*slots)
	if len(fits[fleet.Direct]) > 0 {
		l.since = time.Time{}
	} else if l.since.IsZero() {
		l.since = now
	}
	patient := now.Sub(l.since) < x.c.Patience
	for _, fit := range []fleet.Fit{fleet.Direct, fleet.Derives, fleet.FallsBack} {
		if len(fits[fit]) > 0 && (fit == fleet.Direct || !patient) {
			l.fit, l.able = fit, slices.Sorted(slices.Values(fits[fit]))
			break
		}
	}
	l.missing = missing(l.sample, lacks)
}

// missing says in a sentence why nobody runs tasks of a lane.
func missing(t fleet.Task, lacks []string) string {
	if len(lacks) == 0 {
		return "no worker is there that gets tasks: start one with assay-worker join"
	}
	slices.Sort(lacks)
	more := ""
	if n := len(lacks) - 4; n > 0 {
		lacks, more = lacks[:4], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("no worker can run %s: %s%s", t.Cell.Target, strings.Join(lacks, "; "), more)
}

// release takes from the backlogs what the queue should have next.
func (x *Coordinator) release() [][]fleet.Task {
	var out [][]fleet.Task
	now := x.c.Now()
	for _, name := range slices.Sorted(maps.Keys(x.lanes)) {
		l := x.lanes[name]
		if len(l.able) == 0 || len(l.released) > l.window/2 || len(l.backlog) == 0 {
			continue
		}
		x.sort(l, now)
		var tasks []fleet.Task
		n := 0
		for _, key := range l.backlog {
			if len(l.released) >= l.window {
				break
			}
			n++
			w := x.board.Work(key)
			if _, there := l.released[key]; there || w.State != fleet.Queued {
				continue
			}
			l.released[key] = now
			tasks = append(tasks, w.Task)
		}
		l.backlog = l.backlog[n:]
		if len(tasks) > 0 {
			out = append(out, tasks)
		}
	}
	return out
}

// sort brings a lane's backlog into the order in which it is released.
func (x *Coordinator) sort(l *lane, now time.Time) {
	if l.sorted {
		return
	}
	tasks := make([]fleet.Task, 0, len(l.backlog))
	for _, key := range l.backlog {
		if w := x.board.Work(key); w.State == fleet.Queued {
			tasks = append(tasks, w.Task)
		}
	}
	slices.SortStableFunc(tasks, func(a, b fleet.Task) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		return a.Queued.Compare(b.Queued)
	})
	if x.c.Place != nil {
		x.c.Place.Order(tasks, now)
	}
	l.backlog = make([]string, len(tasks))
	for i, t := range tasks {
		l.backlog[i] = t.Key
	}
	l.sorted = true
}

// stranded are the lanes that nobody may fetch from; of one sweep, or of all.
func (x *Coordinator) stranded(sweep string) []fleet.Stranded {
	out := []fleet.Stranded{}
	now := x.c.Now()
	for _, name := range slices.Sorted(maps.Keys(x.lanes)) {
		l := x.lanes[name]
		if l.fit != fleet.Unfit || l.empty() || now.Sub(l.since) < x.c.Patience {
			continue
		}
		s := fleet.Stranded{Lane: name, Target: l.sample.Cell.Target, For: now.Sub(l.since), Missing: l.missing}
		for _, key := range slices.Concat(l.backlog, slices.Collect(maps.Keys(l.released))) {
			w := x.board.Work(key)
			if w.State != fleet.Queued || sweep != "" && !slices.Contains(w.Sweeps, sweep) {
				continue
			}
			s.Tasks++
			if len(s.Keys) < 100 {
				s.Keys = append(s.Keys, key)
			}
		}
		if s.Tasks > 0 {
			out = append(out, s)
		}
	}
	return out
}
