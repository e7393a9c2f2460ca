// Package fleet has the values of many machines that share one sweep, and the
// rules by which they change. It knows no network, no clock and no file: whoever
// does (coordinator, worker, queue) keeps these rules.
//
// A sweep is a plan that somebody sent. Each of its cells becomes a Task, which
// says what it needs (Needs). A worker announces what it has (Announcement). A task
// lies in a Queue, in the lane of its needs, until a worker that can run it
// fetches it. The coordinator then grants an attempt with a number of its own
// (Board.Begin); the worker runs the cell and says what came of it with that
// number (Board.Finish). Only the newest attempt's answer is accepted, once. What
// comes later is kept as evidence, and changes nothing. A task whose worker went
// silent is lost by that attempt (Board.Lose) and runs elsewhere; a cell that took
// two workers with it is a crash, and is not tried a third time.
//
// Everything that happens is an Event. The coordinator's ledger holds them in order,
// and a Board is what they add up to: after a crash it is read again. The queue
// only hands tasks out. It may deliver one twice, or too often, or forget it:
// the board decides what that means.
package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Protocol is the version of what coordinator and workers say to each other.
const Protocol = 2

// MostAnswer is how many bytes the results of one task may have.
const MostAnswer = 32 << 20

// Lease is how long a worker may be silent before its task goes to another one.
const Lease = 15 * time.Second

// Task is one cell to be run by some worker.
type Task struct {
	Key      string    `json:"key"` // cell and how it is to be run: a queue holds one task of a key
	Cell     cell.Cell `json:"cell"`
	How      cell.Plan `json:"how"` // timing, strictness, limits; without cells
	Needs    Needs     `json:"needs"`
	Sweep    string    `json:"sweep"`
	Priority int       `json:"priority,omitempty"` // larger ones first
	Queued   time.Time `json:"queued"`             // by the coordinator's clock
	To       string    `json:"to,omitempty"`       // the worker that it is handed to: its lane is that worker's
}

// NewTask is the task of a cell that is run as a plan says.
func NewTask(c cell.Cell, how cell.Plan, needs Needs) Task {
	c = c.Normal()
	how.Cells = nil
	needs.Target = c.Where().Normal()
	if c.Weights == cell.Hub {
		needs.Hub = true
	}
	return Task{Key: c.Hash + "-" + how.Hash()[:8], Cell: c, How: how, Needs: needs}
}

// Timed reports whether the task needs its device, and its host, for itself.
func (t Task) Timed() bool { return t.How.Timed() }

// FallsBack reports whether the cell may run elsewhere than it was asked for.
func (t Task) FallsBack() bool {
	p, ok := platform.Get(t.Needs.Target.Platform)
	return !t.How.Strict && !t.How.NoFallback && ok && len(p.Fallback) > 0 && t.Needs.Target.Engine != platform.Noop
}

// Plan is the plan of the task's one cell.
func (t Task) Plan() cell.Plan {
	p := t.How
	p.Cells = []cell.Cell{t.Cell}
	return p
}

// Needs are what a worker must have to run a task.
type Needs struct {
	Target      platform.Target   `json:"target"`
	MemoryBytes int64             `json:"memory_bytes,omitempty"` // of the device; 0 is unknown
	Labels      map[string]string `json:"labels,omitempty"`       // that the worker must carry
	Hub         bool              `json:"hub,omitempty"`          // weights are loaded from the Hub
	Pickle      bool              `json:"pickle,omitempty"`       // and may be of a kind that can hold code
	Code        bool              `json:"code,omitempty"`         // the model's own code is run
}

// LaneOf is where tasks wait that are handed to a worker.
func LaneOf(worker string) string { return "to-" + worker }

// Lane is where the task waits: at the worker that it is handed to, or by its needs: the target's name,
// with "any" behind it where the
// cell may run elsewhere and a digest where more is needed. It has only letters,
// digits, dashes and underscores.
func (t Task) Lane() string {
	if t.To != "" {
		return LaneOf(t.To)
	}
	lane := strings.NewReplacer("/", "-", ":", "-", "@", "-", ".", "_").Replace(t.Needs.Target.String())
	if t.FallsBack() {
		lane += "-any"
	}
	n := t.Needs
	if n.MemoryBytes == 0 && len(n.Labels) == 0 && !n.Hub && !n.Pickle && !n.Code {
		return lane
	}
	n.Target = platform.Target{}
	b, err := json.Marshal(n)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	sum := sha256.Sum256(b)
	return lane + "-" + hex.EncodeToString(sum[:4])
}

// GuestLabel is the label by which a task asks for one guest of a worker's web lab.
const GuestLabel = "guest"

// Offer is a target that a worker has.
type Offer struct {
	Target      platform.Target  `json:"target"`
	Name        string           `json:"name,omitempty"`         // of the device
	MemoryBytes int64            `json:"memory_bytes,omitempty"` // 0 is unknown
	Software    bool             `json:"software,omitempty"`     // an emulator or a software adapter
	DTypes      []platform.DType `json:"dtypes,omitempty"`       // nil is unknown
	Guest       string           `json:"guest,omitempty"`        // whose browser it is, where it is not the worker's own
}

// String is the offer's target, and whose it is.
func (o Offer) String() string {
	if o.Guest == "" {
		return o.Target.String()
	}
	return fmt.Sprintf("%s (%s)", o.Target, o.Guest)
}

// Policy is what a worker's owner lets it do.
type Policy struct {
	Hub    bool `json:"hub,omitempty"`
	Pickle bool `json:"pickle,omitempty"`
	Code   bool `json:"code,omitempty"`
}

// Announcement is what a worker says about itself when it joins.
type Announcement struct {
	Protocol    int                `json:"protocol"`
	Worker      string             `json:"worker"`      // its name, one in the fleet
	Incarnation string             `json:"incarnation"` // of the process: a worker that was started again is another
	Version     string             `json:"version"`
	Host        cell.Host          `json:"host"`
	Where       string             `json:"where"` // the same for all workers under one kernel, and for no others
	Offers      []Offer            `json:"offers"`
	Labels      map[string]string  `json:"labels,omitempty"`
	Slots       int                `json:"slots"` // functional tasks that it runs in parallel
	Versions    map[string]string  `json:"versions,omitempty"`
	Allows      Policy             `json:"allows"`
	Speed       map[string]float64 `json:"speed,omitempty"` // measured, by target; missing is unknown
	Now         time.Time          `json:"now"`             // by its own clock
}

// Fit is how well a worker suits a task.
type Fit string

// The fits.
const (
	Direct    Fit = "direct"   // it has the target
	Derives   Fit = "derives"  // it has not, but can derive a verdict
	FallsBack Fit = "fallback" // it has a target that may stand for it
	Unfit     Fit = ""
)

// Suits says how well the worker suits a task, and what it lacks where it does
// not have the target itself.
func (a Announcement) Suits(t Task) (Fit, string) {
	if lack := a.lacks(t.Needs); lack != "" {
		return Unfit, lack
	}
	if guest := t.Needs.Guest(); a.hosts(guest) {
		a.Offers = slices.DeleteFunc(slices.Clone(a.Offers), func(o Offer) bool { return o.Guest != guest })
	}
	missing := a.missing(t.Needs.Target, t.Needs.MemoryBytes)
	switch {
	case missing == "":
		return Direct, ""
	case t.Needs.Target.Derives() && a.has(platform.Target{Platform: platform.CPU}.Normal()):
		return Derives, missing
	case t.FallsBack() && a.standsIn(t.Needs.Target):
		return FallsBack, missing
	}
	return Unfit, missing
}

// lacks names what the worker's owner has to change.
func (a Announcement) lacks(n Needs) string {
	for _, name := range slices.Sorted(maps.Keys(n.Labels)) {
		if a.Labels[name] != n.Labels[name] && (name != GuestLabel || !a.hosts(n.Guest())) {
			return fmt.Sprintf("the label %s=%s", name, n.Labels[name])
		}
	}
	switch {
	case n.Hub && !a.Allows.Hub:
		return "leave to load weights (join --allow-hub)"
	case n.Pickle && !a.Allows.Pickle:
		return "leave to load pickled weights (join --allow-pickle)"
	case n.Code && !a.Allows.Code:
		return "leave to run a model's own code (join --trust-remote-code)"
	}
	return ""
}

// Guest is the one guest of a worker that may run the task; "" is any, and any worker.
func (n Needs) Guest() string { return n.Labels[GuestLabel] }

// hosts reports whether the worker has a guest of that name.
func (a Announcement) hosts(guest string) bool {
	return guest != "" && slices.ContainsFunc(a.Offers, func(o Offer) bool { return o.Guest == guest })
}

// missing names what of the target is not there.
func (a Announcement) missing(t platform.Target, memory int64) string {
	most := int64(-1)
	for _, o := range a.Offers {
		if !o.Is(t) {
			continue
		}
		if memory == 0 || o.MemoryBytes == 0 || o.MemoryBytes >= memory {
			return ""
		}
		most = max(most, o.MemoryBytes)
	}
	if most >= 0 {
		return fmt.Sprintf("%.1f GB on %s (it has %.1f)", float64(memory)/1e9, t, float64(most)/1e9)
	}
	return t.String()
}

func (a Announcement) has(t platform.Target) bool { return a.missing(t, 0) == "" }

// Is reports whether an offer is the target: a target without a browser takes any.
func (o Offer) Is(t platform.Target) bool {
	if t.Browser == "" {
		o.Target.Browser = ""
	}
	return o.Target == t
}

// standsIn reports whether the worker has a platform to which cells of the
// target fall back.
func (a Announcement) standsIn(t platform.Target) bool {
	p, ok := platform.Get(t.Platform)
	if !ok {
		return false
	}
	return slices.ContainsFunc(a.Offers, func(o Offer) bool {
		inPages := o.Target.Engine.Traits().Pages == t.Normal().Engine.Traits().Pages // what was asked of a browser stays in one
		return inPages && o.Target.Engine != platform.Noop && slices.Contains(p.Fallback, o.Target.Platform)
	})
}

// CheckName says what is wrong with a worker's name: it becomes part of
// subjects and of files.
func CheckName(name string) error {
	good := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if name == "" || len(name) > 60 || strings.IndexFunc(name, func(r rune) bool { return !good(r) }) >= 0 {
		return fmt.Errorf("%.80q is not a worker's name: names are up to 60 letters, digits, dashes and underscores", name)
	}
	return nil
}

// Check says what is wrong with an announcement.
func (a Announcement) Check() error {
	if a.Protocol != Protocol {
		return fmt.Errorf("worker %s speaks version %d of the protocol, the coordinator %d: use the same release of Assay on both", a.Worker, a.Protocol, Protocol)
	}
	if a.Incarnation == "" || a.Slots < 1 {
		return fmt.Errorf("worker %s: an announcement needs an incarnation and at least one slot", a.Worker)
	}
	return CheckName(a.Worker)
}
