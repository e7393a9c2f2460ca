package fleet

import (
	"context"
	"encoding/json"
	"time"

	"assay/internal/cell"
)

// Desk is the coordinator as a worker sees it. Every call may be repeated: what
// was said already changes nothing.
type Desk interface {
	// Hello announces a worker.
	Hello(ctx context.Context, a Announcement) (Orders, error)
	// Beat says that a worker is there and what it does, at least three times a lease.
	Beat(ctx context.Context, b Beat) (Orders, error)
	// Begin asks for leave to run a task that was fetched.
	Begin(ctx context.Context, b Beginning) (Grant, error)
	// Finish says what came of an attempt.
	Finish(ctx context.Context, a Answer) (Outcome, error)
	// Health says how a health check went.
	Health(ctx context.Context, h Health) (Orders, error)
}

// Beat is a worker's sign of life.
type Beat struct {
	Worker      string     `json:"worker"`
	Incarnation string     `json:"incarnation"`
	Running     []Activity `json:"running,omitempty"`
	Now         time.Time  `json:"now"`               // by its own clock
	Leaving     bool       `json:"leaving,omitempty"` // it is the last one: the worker has given back what it had
}

// Beginning asks for leave.
type Beginning struct {
	Worker      string `json:"worker"`
	Incarnation string `json:"incarnation"`
	Key         string `json:"key"`
}

// Health is what a health check gave.
type Health struct {
	Worker      string            `json:"worker"`
	Incarnation string            `json:"incarnation"`
	Wrong       string            `json:"wrong,omitempty"` // "" is healthy
	Results     []json.RawMessage `json:"results,omitempty"`
}

// Orders are what the coordinator wants of a worker.
type Orders struct {
	Unknown     bool          `json:"unknown,omitempty"` // say hello first
	Lanes       []string      `json:"lanes,omitempty"`   // to fetch from
	Stop        []Activity    `json:"stop,omitempty"`    // attempts that nobody waits for
	Check       bool          `json:"check,omitempty"`   // a health check is due
	Draining    bool          `json:"draining,omitempty"`
	Quarantined string        `json:"quarantined,omitempty"`
	Lease       time.Duration `json:"lease_ns"`
}

// Office is the coordinator as users see it.
type Office interface {
	// Submit sends the tasks of a sweep, in parts: the first makes the sweep, the
	// last is marked. Sending a part again changes nothing.
	Submit(ctx context.Context, s Submission) (Sweep, error)
	// Answers are the final results of a sweep's tasks behind the first After,
	// as they came; it waits a while where there are none.
	Answers(ctx context.Context, q Question) (Page, error)
	Status(ctx context.Context) (Status, error)
	Tasks(ctx context.Context, q TaskQuestion) ([]TaskStatus, error)
	// Outliers are the workers that stand apart from others on machines of the same kind, by all that the ledger holds.
	Outliers(ctx context.Context) ([]Outlier, error)
	// Steer does what a person wants, and says what was done.
	Steer(ctx context.Context, s Steering) (string, error)
}

// Submission is a part of a sweep.
type Submission struct {
	Sweep Sweep  `json:"sweep"` // with an id of the sender's making
	Part  int    `json:"part"`  // counts from 0
	Tasks []Task `json:"tasks"`
	Last  bool   `json:"last"`
}

// Question asks for answers.
type Question struct {
	Sweep string        `json:"sweep"`
	After int           `json:"after"`
	Wait  time.Duration `json:"wait_ns"`
}

// Page is some of a sweep's answers.
type Page struct {
	Answers   []Final    `json:"answers"`
	Left      int        `json:"left"`
	Cancelled bool       `json:"cancelled,omitempty"`
	Stranded  []Stranded `json:"stranded,omitempty"`
	UnderWay  int        `json:"under_way"`
	Suspect   []string   `json:"suspect,omitempty"` // keys of answers whose worker failed a health check later
}

// Final is what a task came to.
type Final struct {
	Key     string            `json:"key"`
	Attempt int               `json:"attempt"`
	Worker  string            `json:"worker,omitempty"` // "" is the coordinator's own verdict
	Host    *cell.Host        `json:"host,omitempty"`
	Results []json.RawMessage `json:"results"`
	Why     string            `json:"why,omitempty"`
}

// TaskQuestion asks for tasks.
type TaskQuestion struct {
	Sweep string `json:"sweep,omitempty"`
	State State  `json:"state,omitempty"`
	Most  int    `json:"most,omitempty"`
}

// TaskStatus is a task at one moment.
type TaskStatus struct {
	Key      string    `json:"key"`
	Cell     cell.Cell `json:"cell"`
	Lane     string    `json:"lane"`
	State    State     `json:"state"`
	Sweeps   []string  `json:"sweeps,omitempty"`
	Queued   time.Time `json:"queued"`
	Attempts []Attempt `json:"attempts,omitempty"`
	Suspect  string    `json:"suspect,omitempty"`
}

// Steering is what a person wants: Do is a kind of event (cancel, pause, resume,
// requeue, drain, undrain, quarantine, release) for a sweep, task or worker.
type Steering struct {
	Do   Kind   `json:"do"`
	Name string `json:"name"`
	Why  string `json:"why,omitempty"`
}

// By is the worker that says it.
func (a Announcement) By() string { return a.Worker }

// By is the worker that says it.
func (b Beat) By() string { return b.Worker }

// By is the worker that says it.
func (b Beginning) By() string { return b.Worker }

// By is the worker that says it.
func (a Answer) By() string { return a.Worker }

// By is the worker that says it.
func (h Health) By() string { return h.Worker }
