package fleet

import (
	"time"

	"assay/internal/cell"
)

// Status is a fleet at one moment, for people, programs and metrics.
type Status struct {
	Schema      int            `json:"schema"`
	At          time.Time      `json:"at"`
	Version     string         `json:"version"`
	Workers     []WorkerStatus `json:"workers"`
	Sweeps      []SweepStatus  `json:"sweeps"`
	Lanes       []LaneStatus   `json:"lanes"`
	Tasks       map[State]int  `json:"tasks"`
	Tally       Tally          `json:"tally"`
	Stranded    []Stranded     `json:"stranded"`
	LedgerBytes int64          `json:"ledger_bytes"`
	Problem     string         `json:"problem,omitempty"` // what keeps the coordinator from its work: a full disk
}

// WorkerStatus is a worker at one moment.
type WorkerStatus struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Host        cell.Host         `json:"host"`
	Offers      []Offer           `json:"offers"`
	Labels      map[string]string `json:"labels,omitempty"`
	Slots       int               `json:"slots"`
	Alive       bool              `json:"alive"`
	Seen        time.Time         `json:"seen,omitzero"`
	Draining    bool              `json:"draining,omitempty"`
	Quarantined string            `json:"quarantined,omitempty"`
	Healthy     time.Time         `json:"healthy,omitzero"` // when it last passed its health check
	SkewS       float64           `json:"skew_s"`           // its clock less the coordinator's
	Running     []Activity        `json:"running,omitempty"`
	Accepted    int               `json:"accepted"` // answers since the coordinator was started
}

// State is in a word how the worker is: here, away, draining or quarantined.
func (w *WorkerStatus) State() string {
	switch {
	case w.Quarantined != "":
		return "quarantined"
	case !w.Alive:
		return "away"
	case w.Draining:
		return "draining"
	}
	return "here"
}

// Activity is a task under way.
type Activity struct {
	Key     string    `json:"key"`
	Attempt int       `json:"attempt"`
	Model   string    `json:"model,omitempty"`
	Target  string    `json:"target,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	Began   time.Time `json:"began,omitzero"`
}

// SweepStatus is a sweep at one moment.
type SweepStatus struct {
	Sweep
	Answered  int  `json:"answered"`
	Left      int  `json:"left"`
	Cancelled bool `json:"cancelled,omitempty"`
	Paused    bool `json:"paused,omitempty"`
}

// LaneStatus is how many tasks wait in a lane, released and held back, and how many
// workers may take them.
type LaneStatus struct {
	Lane     string `json:"lane"`
	Queued   int    `json:"queued"`
	UnderWay int    `json:"under_way"`
	Workers  int    `json:"workers"`
}

// Stranded are tasks that no worker can run, and what is missing.
type Stranded struct {
	Lane    string        `json:"lane"`
	Target  string        `json:"target"`
	Tasks   int           `json:"tasks"`
	For     time.Duration `json:"for_ns"`
	Missing string        `json:"missing"`
	Awaits  string        `json:"awaits,omitempty"` // a worker that can, and went silent not long ago
	Sweeps  []string      `json:"sweeps,omitempty"`
	Keys    []string      `json:"keys,omitempty"` // some of them
}

// Outlier is a worker that stands apart from others on machines of the same kind.
type Outlier struct {
	Worker string    `json:"worker"`
	Cell   cell.Cell `json:"cell"`
	Others int       `json:"others"`          // workers that it was compared with
	Ratio  float64   `json:"ratio,omitempty"` // its time over theirs; 0 where it is about the verdict
	P      float64   `json:"p,omitempty"`     // adjusted for all comparisons
	Why    string    `json:"why"`
}
