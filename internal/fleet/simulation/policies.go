package simulation

import (
	"time"

	"assay/internal/fleet/placement"
)

// Planned is the coordinator's scheduler.
type Planned struct {
	scheduler *placement.Scheduler
	load      *Workload
	index     map[string]int
}

// NewPlanned gives a workload to a scheduler.
func NewPlanned(load *Workload) *Planned {
	p := &Planned{placement.New(), load, map[string]int{}}
	p.scheduler.Copies = true
	for i := range load.Workers {
		p.scheduler.Join(load.Workers[i])
	}
	for i := range load.Jobs {
		p.index[load.Jobs[i].ID] = i
		p.scheduler.Add(load.Jobs[i].Task)
	}
	return p
}

// Next asks the scheduler.
func (p *Planned) Next(now time.Time, worker int) (int, bool) {
	t, ok := p.scheduler.Next(now, p.load.Workers[worker].ID)
	return p.index[t.ID], ok
}

// Done tells it.
func (p *Planned) Done(job, worker int) {
	p.scheduler.Answered(p.load.Jobs[job].ID)
	p.scheduler.Stopped(p.load.Jobs[job].ID, p.load.Workers[worker].ID)
}

// Served is first come, first served: a worker with a free slot takes the first task in
// the queue that it can run.
type Served struct {
	load *Workload
	// Waits holds a worker back when the first that it can run is timed and other tasks
	// still run there. Otherwise it takes the next that need not wait.
	waits bool
	taken []bool
	at    []int // by worker: what is before it is taken, or not for it
	busy  []int
}

// NewServed serves a workload in its order.
func NewServed(load *Workload, waits bool) *Served {
	return &Served{load: load, waits: waits, taken: make([]bool, len(load.Jobs)), at: make([]int, len(load.Workers)), busy: make([]int, len(load.Workers))}
}

// Next is the first that the worker can run.
func (s *Served) Next(_ time.Time, worker int) (int, bool) {
	skipped := false
	for i := s.at[worker]; i < len(s.taken); i++ {
		if s.taken[i] || !s.can(worker, i) {
			if !skipped {
				s.at[worker] = i + 1
			}
			continue
		}
		if s.load.Jobs[i].Timed && s.busy[worker] > 0 {
			if s.waits {
				return 0, false
			}
			skipped = true
			continue
		}
		s.taken[i] = true
		s.busy[worker]++
		return i, true
	}
	return 0, false
}

func (s *Served) can(worker, job int) bool {
	_, ok := placement.Fit(&s.load.Workers[worker], &s.load.Jobs[job].Task)
	return ok
}

// Done frees the slot.
func (s *Served) Done(_, worker int) { s.busy[worker]-- }
