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
	name    string
	sample  fleet.Task
	keys    map[string]bool // tasks that have no answer yet
	able    []string        // workers that may have its tasks, as last judged
	fit     fleet.Fit       // that they have
	since   time.Time       // since when nobody may; zero when somebody may
	missing string
	awaits  string // a worker that may, and went silent a while ago
}

func (x *Coordinator) lane(t fleet.Task) *lane {
	name := t.Lane()
	l := x.lanes[name]
	if l == nil {
		l = &lane{name: name, sample: t, keys: map[string]bool{}, since: x.c.Now()}
		x.lanes[name] = l
		x.judge(l, x.c.Now())
		x.muster = true
	}
	return l
}

// alive reports whether a worker was heard within its lease.
func (x *Coordinator) alive(name string) bool {
	p := x.present[name]
	return p != nil && !p.left && x.c.Now().Sub(p.seen) < x.c.Lease
}

// awaited reports whether a worker that is not heard may be expected back: it went silent not long ago, or the coordinator
// was started just now and nobody had the time to say anything.
func (x *Coordinator) awaited(name string) bool {
	p, now := x.present[name], x.c.Now()
	if p == nil {
		return now.Sub(x.opened) < x.c.Lease
	}
	return !p.left && now.Sub(p.seen) < x.c.Absence
}

// judgeLanes finds out who may have tasks of which lane.
func (x *Coordinator) judgeLanes(now time.Time) {
	for name, l := range x.lanes {
		if len(l.keys) == 0 {
			delete(x.lanes, name)
			continue
		}
		before := l.able
		x.judge(l, now)
		if !slices.Equal(before, l.able) {
			x.awake()
		}
	}
	x.muster = true
}

// judge finds out who may have tasks of a lane: those that have the target; where
// there are none for a while, those that can derive a verdict, or have a
// fallback.
func (x *Coordinator) judge(l *lane, now time.Time) {
	fits := map[fleet.Fit][]string{}
	var lacks []string
	l.awaits = ""
	for _, m := range x.board.Members() {
		if !m.Open() {
			if fit, _ := m.Suits(l.sample); fit == fleet.Direct && x.alive(m.Worker) {
				lacks = append(lacks, m.Worker+" "+closed(m))
			}
			continue
		}
		if !x.alive(m.Worker) {
			if fit, _ := m.Suits(l.sample); fit == fleet.Direct && x.awaited(m.Worker) && (l.awaits == "" || m.Worker < l.awaits) {
				l.awaits = m.Worker
			}
			continue
		}
		fit, missing := m.Suits(l.sample)
		if fit != fleet.Direct {
			lacks = append(lacks, m.Worker+" lacks "+missing)
		}
		if fit != fleet.Unfit {
			fits[fit] = append(fits[fit], m.Worker)
		}
	}
	l.fit, l.able = fleet.Unfit, nil
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
	if l.awaits != "" {
		l.missing = fmt.Sprintf("worker %s has %s and is not heard: it is waited for, %s at most", l.awaits, l.sample.Cell.Target, x.c.Absence)
	}
}

// closed is why a worker gets no tasks, and what to do about it.
func closed(m *fleet.Member) string {
	if m.Quarantined != "" {
		return "is quarantined (assay fleet release " + m.Worker + ")"
	}
	return "is draining (assay fleet undrain " + m.Worker + ")"
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

// stranded are the lanes whose tasks nobody may have; of one sweep, or of all.
func (x *Coordinator) stranded(sweep string) []fleet.Stranded {
	out := []fleet.Stranded{}
	now := x.c.Now()
	for _, name := range slices.Sorted(maps.Keys(x.lanes)) {
		l := x.lanes[name]
		if l.fit != fleet.Unfit || now.Sub(l.since) < x.c.Patience {
			continue
		}
		s := fleet.Stranded{Lane: name, Target: l.sample.Cell.Target, For: now.Sub(l.since), Missing: l.missing, Awaits: l.awaits}
		for _, key := range slices.Sorted(maps.Keys(l.keys)) {
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
