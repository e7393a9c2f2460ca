package cell

import (
	"slices"
	"strings"
)

// Exported describes the graph that ran in the model's place.
type Exported struct {
	Key      string       `json:"key"`      // in the cache of exported models
	Prepared string       `json:"prepared"` // key of what the engine made of it
	Found    bool         `json:"found"`    // it was there already
	Opset    int          `json:"opset"`
	Exporter string       `json:"exporter"`
	Via      string       `json:"via,omitempty"`     // onnx, torch where the engine converted the model itself, or transformers.js
	Way      string       `json:"way,omitempty"`     // as in ExportTry, of what counts; "" in results of older versions
	Earlier  []ExportTry  `json:"earlier,omitempty"` // other ways to the engine that were tried, and what they came to
	Steps    []ExportStep `json:"steps"`             // how the graph was made friendly to accelerators
	Check    ExportCheck  `json:"check"`
}

// ExportTry is a way to an engine that is not the one that counts: it was
// refused, or gave numbers that differ from the model's.
type ExportTry struct {
	Way   string `json:"way"` // the form of the model, and settings of the engine beside its usual ones
	Error string `json:"error"`
}

// wrongNumbers is how the error of a way begins that ran and gave numbers other
// than the model's (docs/protocol.md).
const wrongNumbers = "its numbers are wrong"

// WrongDefault is the first way of all, the engine's default configuration, where
// it gave wrong numbers and another way counts in its place; nil otherwise.
func (e *Exported) WrongDefault() *ExportTry {
	if e == nil || len(e.Earlier) == 0 || !strings.HasPrefix(e.Earlier[0].Error, wrongNumbers) {
		return nil
	}
	return &e.Earlier[0]
}

// Limited reports whether the graph is right only while some inputs keep the
// values of the exported call, or lead to the same choices.
func (e *Exported) Limited() bool {
	return e != nil && (e.Step(ConstantInputs) != nil || e.Step(FixedChoices) != nil)
}

// FixedChoices is the step of a graph in which choices that the model makes by
// values are those of the exported call.
const FixedChoices = "fixed choices"

// ConstantInputs is the step of a graph that holds the values of some inputs of
// the exported call, and does not take others.
const ConstantInputs = "constant inputs"

// FixedAxes is the step of a graph that has one size in axes that were asked to
// stay free.
const FixedAxes = "fixed axes"

// Step returns the step of that name; nil if it changed nothing.
func (e *Exported) Step(name string) *ExportStep {
	i := slices.IndexFunc(e.Steps, func(s ExportStep) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Steps[i]
}

// ExportStep is a rewriting that changed the graph and kept its numbers.
type ExportStep struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Why   string `json:"why"`
}

// ExportCheck is the graph's comparison with torch before any other engine
// runs it.
type ExportCheck struct {
	Engine string   `json:"engine"`
	MaxRel *float64 `json:"max_rel,omitempty"`
	Pass   bool     `json:"pass"`
	Error  string   `json:"error,omitempty"`  // why that engine could not run it
	Sample string   `json:"sample,omitempty"` // the inputs on which it is furthest off, where they are not the exported ones
}

// Rescued reports whether the engine's default configuration gave wrong numbers,
// and another setting right ones.
func (r Result) Rescued() bool {
	return r.Export.WrongDefault() != nil && r.Numerics != nil && r.Numerics.Pass
}
