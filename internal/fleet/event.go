package fleet

import (
	"encoding/json"
	"time"

	"assay/internal/cell"
)

// Kind is what an event says.
type Kind string

// The kinds of events. Readers pass over those that they do not know.
const (
	KindSweep    Kind = "sweep"    // somebody sent a plan
	KindTask     Kind = "task"     // one of its cells
	KindJoined   Kind = "joined"   // a cell that another sweep waits for already
	KindWorker   Kind = "worker"   // a worker announced itself
	KindBegan    Kind = "began"    // an attempt was granted
	KindLost     Kind = "lost"     // its worker went silent
	KindSurvived Kind = "survived" // and came back: the cell did not kill it
	KindFailed   Kind = "failed"   // it failed in a way that is tried elsewhere
	KindAccepted Kind = "accepted" // its answer is the task's
	KindLate     Kind = "late"     // its answer came too late, and is evidence
	KindDead     Kind = "dead"     // nobody will try it again; Results hold the verdict
	KindCancel   Kind = "cancel"   // of a sweep, or of one task
	KindPause    Kind = "pause"
	KindResume   Kind = "resume"
	KindRequeue  Kind = "requeue"    // a task that ended is tried anew
	KindDrain    Kind = "drain"      // a worker gets no more tasks
	KindUndrain  Kind = "undrain"    // it does again
	KindBan      Kind = "quarantine" // a worker failed its health check, or a person says so
	KindUnban    Kind = "release"
	KindHealthy  Kind = "healthy" // a worker passed its health check
	KindSuspect  Kind = "suspect" // a result accepted from a worker that was found unhealthy later
)

// Event is one thing that happened: a line of the coordinator's ledger.
type Event struct {
	Kind    Kind          `json:"kind"`
	At      time.Time     `json:"at"`
	Sweep   *Sweep        `json:"sweep,omitempty"`
	Task    *Task         `json:"task,omitempty"`
	Worker  *Announcement `json:"worker,omitempty"`
	Name    string        `json:"name,omitempty"` // of a sweep or a worker
	Key     string        `json:"key,omitempty"`  // of a task
	Attempt *Attempt      `json:"attempt,omitempty"`
	Why     string        `json:"why,omitempty"`
	// Results are what the attempt gave, as they came.
	Results []json.RawMessage `json:"results,omitempty"`
	// Host is where they came from.
	Host *cell.Host `json:"host,omitempty"`
}

// Sweep is a plan that somebody sent.
type Sweep struct {
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"`
	Command  string    `json:"command,omitempty"` // test, bench, matrix
	PlanHash string    `json:"plan_hash,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Tasks    int       `json:"tasks"`            // that it has
	Started  time.Time `json:"started,omitzero"` // the sender's run, by its own clock
	Assay    string    `json:"assay,omitempty"`  // the sender's version
}
