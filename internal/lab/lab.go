// Package lab runs a plan on this machine.
//
// A plan's cells are first mapped onto what the machine has (route.go): a target
// that is not there becomes an unavailable result and, unless forbidden, a
// fallback cell elsewhere; where its platform's operators are known on any
// machine, its verdict is derived instead (derive.go). Cells that differ only in batch or input size form a
// group (group.go), because one loaded model serves them all. Each group is
// checked once in its own child, in parallel with others as far as
// workers and memory allow (admission.go); what works is then timed, if the plan
// asks for it, in fresh children one at a time, the repeats of neighbouring
// groups interleaved (timed.go). When memory runs out the settings are lowered
// in a fixed order (adapt.go). What the children report becomes one result per
// cell (verdict.go), reported as soon as it is final.
//
// The lab knows runners only by the Runner interface, recipes by Recipes, the
// machine by Machine. It keeps nothing: a listener writes the journal.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/runner"
)

// Runner executes one job in a fresh child. It is safe for concurrent use.
// Cancelling ctx kills the child's whole process group; Run returns when it is
// gone. An error means that the runner itself was lost, not that the job failed.
type Runner interface {
	Run(ctx context.Context, job runner.Job, on func(runner.Event)) (runner.Exit, error)
}

// Recipe says how a cell's model is built and fed, with the few facts that the
// lab itself needs. JSON goes to the runner untouched.
type Recipe struct {
	JSON       json.RawMessage
	Class      string
	Task       string
	Parameters int64
	Weights    *runner.Weights // where given weights are; nil where they are drawn
	Content    string          // digest of the user's own files that the model is made of; "" for others
	Seq, Image int             // the sizes used when the cell names none; 0 where there is no such size
	// Kept is what the model gave before, with the releases named by KeptOf; nil where that is not known.
	Kept   *cell.KeptFingerprint
	KeptOf string
}

// Recipes finds a cell's recipe. Its error is a sentence for the user and
// becomes the cell's failure.
type Recipes interface {
	Recipe(ctx context.Context, c cell.Cell) (Recipe, error)
}

// Presence is what the machine says of a target.
type Presence struct {
	Present     bool
	Reason      string // why it is not present
	Derives     bool   // not present, but what would run there can be derived
	Software    bool   // an emulator or a software adapter: evidence is emulated, times do not count
	MemoryBytes int64  // of the device; 0 is unknown
	// DTypes are what the device computes in; nil is unknown.
	DTypes  []platform.DType
	Threads int // that its settings recommend; 0 leaves it to the runner
	// Restricted says in a sentence what the processor is kept from that it
	// announces, for a child at a level (runner.AtLevel); nil, or "", is nothing.
	Restricted func(level string) string
}

// Machine tells what is here. Both methods are quick and never fail.
type Machine interface {
	Presence(t platform.Target) Presence
	// FreeBytes is the host memory that new children may use now; 0 is unknown.
	FreeBytes() int64
}

// Lab runs plans. Its fields are set once, before Carry.
type Lab struct {
	Runner  Runner
	Recipes Recipes
	Machine Machine
	// Workers is how many functional children of a plan may run in parallel.
	Workers int
	// Admission is shared by all plans that are run at the same time, on
	// this machine's memory and cores; nil is one for each plan, of Workers.
	Admission *Admission
	// Of names the machine whose devices the cells run on, where that is not
	// this one: then only the host's memory is this machine's.
	Of string
	// Limit is how long one child may take when the plan does not say.
	Limit time.Duration
	// Hush waits until no other assay on this host times or runs what would
	// disturb; alone asks for silence, otherwise company is welcome. Nil is
	// for tests, where nothing else runs.
	Hush func(ctx context.Context, alone bool, note func(string)) (release func(), err error)
	// Others tells what other programs ask of the processor while nothing of
	// ours runs; nil does not look.
	Others func(ctx context.Context) Load
	// Devices tells how warm the machine is and who else uses its GPU, if one is
	// timed, while nothing of ours runs; nil does not look.
	Devices func(ctx context.Context, gpu bool) Device
	// Tables is the folder in which runners keep what they read of their
	// libraries; "" keeps nothing.
	Tables string
	// Exports is the folder of exported models, for engines that run a graph.
	Exports string
	// Opset is that of ONNX graphs to be exported; 0 is the exporter's own.
	Opset int
	// Keep is a folder for the outputs of checked cells, a file named by each
	// cell's hash; "" keeps none.
	Keep string
	// Context holds what is the same for every result: versions, environment.
	Context cell.Context
	// Past are the times that this host has of the plan's models: what a
	// fallback costs is computed from them.
	Past Past
}

// Carry runs the plan. It returns an error when the plan could not go
// on: cancelled, runner gone for good, listener failed. A failing cell is a
// result, not an error.
func (l *Lab) Carry(ctx context.Context, plan cell.Plan, on progress.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &carrying{Lab: l, plan: plan, on: progress.OneAtATime(on), stop: cancel}
	if c.admission = l.Admission; c.admission == nil {
		c.admission = NewAdmission(l.Workers)
	}
	c.hostBytes = c.admission.learn(l.Machine.FreeBytes, c.deviceMemory())
	routes := c.routes()
	c.tell(progress.Planned(len(routes)))
	var err error
	if plan.Timing == cell.Functional {
		err = c.checkAll(ctx, routes)
	} else {
		err = c.timeAll(ctx, routes)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// carrying is one Carry under way.
type carrying struct {
	*Lab
	plan      cell.Plan
	on        progress.Listener
	admission *Admission
	hostBytes int64 // that there are for all plans together; 0 is unknown
	stop      context.CancelCauseFunc
	coldSaid  bool // that no temperature is known
}

// tell hands an event over; a listener that fails stops the plan.
func (c *carrying) tell(e progress.Event) {
	if err := c.on.Hear(e); err != nil {
		c.stop(err)
	}
}

// admit waits until a job may run, and returns what releases its place.
func (c *carrying) admit(ctx context.Context, n need) (release func(), err error) {
	if n.silicon != "cpu" {
		n.silicon = c.Of + n.silicon
	}
	return c.admission.acquire(ctx, n)
}

// finish hands a final result over.
func (c *carrying) finish(r cell.Result) { c.tell(progress.Finished(r)) }

// note says a sentence to the user.
func (c *carrying) note(text string) { c.tell(progress.Note(text)) }

// deviceMemory is the memory of each device the plan names, by silicon.
func (c *carrying) deviceMemory() map[string]int64 {
	m := map[string]int64{}
	for _, x := range c.plan.Cells {
		p := c.Machine.Presence(x.Where())
		if s := silicon(x.Where(), p.Software); s != "cpu" && p.MemoryBytes > 0 {
			m[c.Of+s] = p.MemoryBytes
		}
	}
	return m
}
