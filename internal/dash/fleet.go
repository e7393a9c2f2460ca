package dash

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/fleet"
)

// Fleet is a fleet at one moment.
type Fleet struct {
	Schema    int            `json:"schema"`
	Named     bool           `json:"named"`   // whether the server was started with a coordinator's address
	Problem   string         `json:"problem"` // why nothing is known, or what keeps the coordinator from its work; "" is nothing
	At        time.Time      `json:"at"`
	Version   string         `json:"version"` // of the coordinator
	Workers   []FleetWorker  `json:"workers"`
	Sweeps    []FleetSweep   `json:"sweeps"` // the newest first
	Tasks     map[string]int `json:"tasks"`  // how many are in each state
	Attempts  int            `json:"attempts"`
	Accepted  int            `json:"accepted"`
	Elsewhere int            `json:"elsewhere"` // attempts that failed and were made again on another worker
	Lost      int            `json:"lost"`
	Late      int            `json:"late"` // answers that are kept as evidence
	Stuck     []FleetStuck   `json:"stuck"`
}

// FleetWorker is a worker of a fleet.
type FleetWorker struct {
	Name     string    `json:"name"`
	State    string    `json:"state" enum:"here,away,draining,quarantined"`
	Why      string    `json:"why"` // it is quarantined
	Seen     time.Time `json:"seen,omitzero"`
	Healthy  time.Time `json:"healthy,omitzero"`
	SkewS    float64   `json:"skew_s"`
	Slots    int       `json:"slots"`
	Accepted int       `json:"accepted"`
	Runs     []string  `json:"runs"`    // what it does now
	Targets  []string  `json:"targets"` // that it has
	Host     cell.Host `json:"host"`
}

// FleetSweep is a sweep of a fleet.
type FleetSweep struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Command  string    `json:"command"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Tasks    int       `json:"tasks"`
	Answered int       `json:"answered"`
	State    string    `json:"state" enum:"done,running,paused,cancelled"`
}

// FleetStuck are tasks that no worker can run.
type FleetStuck struct {
	Target  string `json:"target"`
	Tasks   int    `json:"tasks"`
	Missing string `json:"missing"`
}

// fleetFresh is how long an answer of the coordinator's serves all viewers.
const fleetFresh = time.Second

// fleetSeen is what the coordinator said last.
type fleetSeen struct {
	mu sync.Mutex
	at time.Time
	is *Fleet
}

// mostSweeps is how many sweeps are shown.
const mostSweeps = 50

func (s *Server) fleet(ctx context.Context, _ *struct{}) (*Fleet, error) {
	if s.o.Fleet == nil {
		return emptyFleet(), nil
	}
	seen := &s.fleetSeen
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if now := s.o.Now(); seen.is == nil || now.Sub(seen.at) >= fleetFresh || now.Before(seen.at) {
		status, err := s.o.Fleet(context.WithoutCancel(ctx)) // others may wait for it, too
		seen.is, seen.at = fleetOf(status), s.o.Now()
		if err != nil {
			seen.is = emptyFleet()
			seen.is.Problem = err.Error()
		}
		seen.is.Named = true
	}
	return seen.is, nil
}

func emptyFleet() *Fleet {
	return &Fleet{Schema: cell.Schema, Workers: []FleetWorker{}, Sweeps: []FleetSweep{}, Tasks: map[string]int{}, Stuck: []FleetStuck{}}
}

func fleetOf(x fleet.Status) *Fleet {
	out := emptyFleet()
	out.Problem, out.At, out.Version = x.Problem, x.At, x.Version
	out.Attempts, out.Accepted, out.Elsewhere, out.Lost, out.Late = x.Tally.Attempts, x.Tally.Accepted, x.Tally.Failed, x.Tally.Lost, x.Tally.Late
	for state, n := range x.Tasks {
		out.Tasks[string(state)] = n
	}
	for i := range x.Workers {
		out.Workers = append(out.Workers, fleetWorker(&x.Workers[i]))
	}
	for _, c := range slices.Backward(x.Sweeps[max(0, len(x.Sweeps)-mostSweeps):]) {
		state := "running"
		switch {
		case c.Cancelled:
			state = "cancelled"
		case c.Left == 0:
			state = "done"
		case c.Paused:
			state = "paused"
		}
		out.Sweeps = append(out.Sweeps, FleetSweep{c.ID, c.Name, c.Command, c.By, c.At, c.Tasks, c.Answered, state})
	}
	for _, t := range x.Stranded {
		out.Stuck = append(out.Stuck, FleetStuck{t.Target, t.Tasks, t.Missing})
	}
	return out
}

func fleetWorker(w *fleet.WorkerStatus) FleetWorker {
	out := FleetWorker{
		Name: w.Name, State: w.State(), Why: w.Quarantined, Seen: w.Seen, Healthy: w.Healthy, SkewS: w.SkewS, Slots: w.Slots,
		Accepted: w.Accepted, Runs: []string{}, Targets: []string{}, Host: w.Host,
	}
	for _, r := range w.Running {
		out.Runs = append(out.Runs, strings.TrimSpace(cmp.Or(r.Model, r.Key)+" "+r.Target))
	}
	for _, o := range w.Offers {
		out.Targets = append(out.Targets, o.String())
	}
	return out
}
