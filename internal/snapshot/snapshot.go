// Package snapshot compares two releases of transformers: which model types
// there are, and what a sweep over them said.
//
// A Snapshot is one side: a catalogue, the outcomes of a sweep, or both. It is
// written by `assay models export` and read from that, or from what other
// commands print (Read knows their JSON by its fields). Compare says what was
// added, removed and changed, and, where both sides hold outcomes, what broke
// and what was fixed. What only one side knows is not compared.
package snapshot

import (
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

// Snapshot is a catalogue at one moment, and what a sweep said about it.
type Snapshot struct {
	Schema       int    `json:"schema"`
	Transformers string `json:"transformers,omitempty"` // the release; "" where it is not known
	// Types are sorted by type; nil where there is no catalogue.
	Types []catalog.Row `json:"models,omitempty"`
	// Outcomes are nil where there was no sweep.
	Outcomes []Outcome `json:"outcomes,omitempty"`
}

// Outcome is what a sweep said about one model with its settings.
type Outcome struct {
	Type       string `json:"type"`
	Checkpoint string `json:"checkpoint,omitempty"`
	Task       string `json:"task,omitempty"`
	Platform   string `json:"platform"`
	Target     string `json:"target,omitempty"` // "" is the platform's own engine and device
	Size       string `json:"size,omitempty"`
	DType      string `json:"dtype,omitempty"`
	// Other are the settings beside these that tell cells apart; nil where all
	// are the default ones.
	Other *cell.Cell `json:"other,omitempty"`

	Verdict  cell.Verdict      `json:"verdict"`
	Evidence cell.Evidence     `json:"evidence,omitempty"`
	Class    cell.FailureClass `json:"class,omitempty"`
	Detail   string            `json:"detail,omitempty"`
	// Given is what the model gave, in a few numbers; nil where it was not kept.
	Given *cell.KeptFingerprint `json:"given,omitempty"`
}

// OfCatalog is a snapshot of a catalogue's types.
func OfCatalog(c *catalog.Catalog) Snapshot {
	s := Snapshot{Schema: cell.Schema, Transformers: c.Transformers, Types: []catalog.Row{}}
	for _, e := range c.Types() {
		s.Types = append(s.Types, e.Row())
	}
	return s
}

// OfResults are the outcomes of results, of each setting the first: callers
// give the newest first. Those of no model, and those that say nothing about one
// because the machine broke or the device is not there, are left out.
func OfResults(results []cell.Result) []Outcome {
	out := []Outcome{}
	seen := map[cell.Key]bool{}
	for _, r := range results {
		o := outcomeOf(r)
		if o.Type == "noop" || !o.speaks() || seen[o.key()] {
			continue
		}
		seen[o.key()] = true
		out = append(out, o)
	}
	sortOutcomes(out)
	return out
}

func outcomeOf(r cell.Result) Outcome {
	c := r.Cell
	n := c.Normal()
	o := Outcome{
		Type: c.Type, Checkpoint: c.Checkpoint, Task: c.Task, Platform: string(n.Platform), Target: n.Target, Size: n.Size, DType: string(n.DType),
		Other: others(c), Verdict: r.Verdict, Evidence: r.Evidence, Detail: r.Note,
	}
	if r.Failure != nil {
		o.Class, o.Detail = r.Failure.Class, r.Failure.Detail
	}
	if r.Fingerprint != nil {
		o.Given = &cell.KeptFingerprint{Subject: r.SubjectHash, Fingerprint: *r.Fingerprint}
	}
	return o
}

// speaks says whether the outcome says anything about the model.
func (o Outcome) speaks() bool {
	tells := slices.Contains([]cell.Verdict{cell.Works, cell.Partial, cell.Fails}, o.Verdict)
	return tells && o.Class.OfModel()
}

// runs says whether the model was seen to run.
func (o Outcome) runs() bool { return o.Verdict == cell.Works || o.Verdict == cell.Partial }

// others are the settings that an outcome has no field of its own for, of those
// that tell one outcome from another.
func others(c cell.Cell) *cell.Cell {
	o := c.Key(append(slices.Clone(immaterial), withField, cell.AnyTarget, cell.AnyTask, cell.AnyDType)...).Cell()
	if o == (cell.Cell{Batch: 1, Mode: cell.Infer}) {
		return nil
	}
	return &o
}

// withField drops what an outcome has fields for and cell names no Any for.
func withField(c *cell.Cell) { c.Type, c.Checkpoint, c.Size = "", "", "" }

// cell is the one that the outcome is of, as far as it tells.
func (o Outcome) cell() cell.Cell {
	var c cell.Cell
	if o.Other != nil {
		c = *o.Other
	}
	c.Type, c.Checkpoint, c.Task, c.Size, c.DType = o.Type, o.Checkpoint, o.Task, o.Size, platform.DType(o.DType)
	if c.Target = o.Target; c.Target == "" {
		c.Platform = platform.Name(o.Platform)
	}
	return c.Normal()
}

// immaterial is what releases are compared without: whatever weights and threads
// they ran with.
var immaterial = []cell.Any{cell.AnyCheckpointIfTiny, cell.AnyWeights, cell.AnyThreads}

// key names the model and its settings.
func (o Outcome) key() cell.Key { return o.cell().Key(immaterial...) }

func sortOutcomes(list []Outcome) {
	slices.SortFunc(list, func(a, b Outcome) int { return strings.Compare(a.key().String(), b.key().String()) })
}

func sortTypes(list []catalog.Row) {
	slices.SortFunc(list, func(a, b catalog.Row) int { return strings.Compare(a.Type, b.Type) })
}
