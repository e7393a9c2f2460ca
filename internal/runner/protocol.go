package runner

import (
	"encoding/json"
	"fmt"

	"assay/internal/cell"
)

// Version is the protocol's version: a runner with another one is refused.
const Version = 1

// MaxLine is the most bytes that a message may have, its newline not counted.
const MaxLine = 8 << 20

// JobKind says what a job's child is to do.
type JobKind string

// The kinds of jobs.
const (
	CheckJob   JobKind = "check"   // build, run each point once, compare with the reference
	TimeJob    JobKind = "time"    // build, then warm-up, timed samples and memory for each point
	RecipeJob  JobKind = "recipe"  // answer with the recipe of Cell.Type
	CatalogJob JobKind = "catalog" // answer with the model types of the installed transformers
	ProbeJob   JobKind = "probe"   // answer with what the detection probe Options["name"] sees
	FactsJob   JobKind = "facts"   // answer with what is derived of the recipe's model at the first point
	DeriveJob  JobKind = "derive"  // answer with what follows of the recipe's model on Options["platforms"], which are not here
	CompareJob JobKind = "compare" // answer with how far kept outputs are from each other
	PartsJob   JobKind = "parts"   // export the parts of the recipe's model, and answer with what they are
	HoldJob    JobKind = "hold"    // load models and answer requests to them at Options["address"], until that hangs up
	NoopJob    JobKind = "noop"    // do what Cell.Task says; see the protocol's last table
)

// Job is what one child is asked to do.
type Job struct {
	Kind   JobKind         `json:"kind"`
	Cell   cell.Cell       `json:"cell"`
	Recipe json.RawMessage `json:"recipe,omitempty"` // as the catalogue has it; nil for questions and no-ops
	Points []Point         `json:"points,omitempty"`
	// Weights says where those are that are not drawn at random; nil when they are.
	Weights *Weights    `json:"weights,omitempty"`
	Timing  *TimingRule `json:"timing,omitempty"`
	// Threads is how many the child may compute with. 0 is one, and in a timed
	// job, which has the machine to itself, the engine's own choice.
	Threads int `json:"threads,omitempty"`
	// Reuse names children that may carry several jobs of that name out in
	// turn, because what each would set up (a device's context) is expensive; ""
	// is a child of its own. The job's exit then comes when the job is done,
	// and the child may stay.
	Reuse string `json:"reuse,omitempty"`
	// Preload asks the runner to import the model's module before it forks,
	// so that repeats share it.
	Preload bool           `json:"preload,omitempty"`
	Options map[string]any `json:"options,omitempty"`
	// Laws asks a check for the laws that right models obey, and Repro for a
	// script for each that is broken.
	Laws  bool `json:"laws,omitempty"`
	Repro bool `json:"repro,omitempty"`
	// Pin holds the child to these processors; nil is any.
	Pin []int `json:"pin,omitempty"`
	// Env are variables for the child, set before anything is computed in it.
	Env map[string]string `json:"env,omitempty"`
}

// Weights are given ones, checked and on this disk.
type Weights struct {
	Folder string `json:"folder"`           // with config.json
	Commit string `json:"commit,omitempty"` // of the checkpoint on the Hub
	// Pickle allows pickles, read without running code from them.
	Pickle bool `json:"pickle,omitempty"`
}

// Point is one input size of a job. Zero is the recipe's own.
type Point struct {
	Batch int `json:"batch"`
	Seq   int `json:"seq"`
	Image int `json:"image"`
}

// TimingRule says when a repeat may stop: not before MinS and MinN are both
// reached, and never after MaxS.
type TimingRule struct {
	MinS            float64 `json:"min_s"`
	MinN            int     `json:"min_n"`
	MaxS            float64 `json:"max_s"`
	WarmupMaxS      float64 `json:"warmup_max_s"`
	WarmupWindow    int     `json:"warmup_window"`
	WarmupTolerance float64 `json:"warmup_tolerance"`
}

// request is a message to the runner.
type request struct {
	Op     string `json:"op"`
	ID     string `json:"id,omitempty"`
	Job    *Job   `json:"job,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// line is the request as it goes over the wire.
func (r request) line() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the %s message: %w", r.Op, err)
	}
	if len(b) > MaxLine {
		return nil, fmt.Errorf("the %s message has %d bytes, more than the %d that the protocol allows", r.Op, len(b), MaxLine)
	}
	return append(b, '\n'), nil
}

// Report is what a child says of a finished point. Nil is unknown, never 0.
type Report struct {
	Outputs         []cell.Output      `json:"outputs"`
	Numerics        *cell.Numerics     `json:"numerics"`
	NumericsNote    string             `json:"numerics_note"` // why numerics are missing or weaker than asked
	Finite          *bool              `json:"finite"`        // no NaN and no infinity in any output
	Constant        *bool              `json:"constant"`      // an output that is the same everywhere
	Placement       *cell.Placement    `json:"placement"`
	Evidence        cell.Evidence      `json:"evidence"` // where it is less than the target's own: emulated, compiled
	Export          *cell.Exported     `json:"export"`   // nil: the model itself ran
	SamplesMS       []float64          `json:"samples_ms"`
	DeviceSamplesMS []float64          `json:"device_samples_ms"`
	CPUMSPerIter    *float64           `json:"cpu_ms_per_iter"`
	PaceMS          []float64          `json:"pace_ms"` // of the processor alone, before and after the samples; nil where another process computes
	Warmup          *Warmup            `json:"warmup"`
	Sync            string             `json:"sync"`
	Hidden          *bool              `json:"hidden"`    // the page was out of view while it was timed; nil without a page
	PhasesMS        map[string]float64 `json:"phases_ms"` // first and warmup: those that belong to the point
	Memory          *cell.Memory       `json:"memory"`
	SubjectHash     string             `json:"subject_hash"`
	Parameters      int64              `json:"parameters"`
	Threads         int                `json:"threads"`
	AttnImpl        string             `json:"attn_implementation"`
	InputsInside    string             `json:"inputs_inside"`
	EnergyJ         *float64           `json:"energy_j"`
	Experts         *cell.Experts      `json:"experts"`         // nil: no mixture of experts, or not counted
	Kernels         map[string]string  `json:"kernels"`         // nil: no choice of kernels, or not looked at
	Laws            []cell.Law         `json:"laws"`            // nil: not asked for, or none could be tried
	Fingerprint     *cell.Fingerprint  `json:"fingerprint"`     // nil: not a tiny model on the CPU in fp32, or without a reference
	Generation      *Tokens            `json:"generation"`      // nil: not mode generate
	Training        *Training          `json:"training"`        // nil: not mode train
	Pipeline        *Requests          `json:"pipeline"`        // nil: not mode pipeline
	Ranks           *cell.Ranks        `json:"ranks"`           // nil: one process on one device
	Moves           *Moves             `json:"moves"`           // nil: not scenario moves
	WeightsDigest   string             `json:"weights_digest"`  // over the bytes of given weights
	WeightsMissing  []string           `json:"weights_missing"` // tensors that the given weights lack, filled at random
	WeightsUnused   []string           `json:"weights_unused"`  // tensors that the model has no place for
	Context         json.RawMessage    `json:"context"`         // what the engine adds to cell.Context
}

// Tokens are what a child says of the generations of a point, one by one.
type Tokens struct {
	PromptTokens int           `json:"prompt_tokens"`
	NewTokens    int           `json:"new_tokens"`
	Batch        int           `json:"batch"`
	PrefillsMS   []float64     `json:"prefills_ms"` // to the first logits; empty where they are not told apart
	StreamsMS    [][]float64   `json:"streams_ms"`  // when each token was known, since its generation began
	IDs          [][]int       `json:"ids"`         // row by row; nil where they are not told
	Strayed      int           `json:"strayed"`     // generations that chose others
	AgreedTokens *int          `json:"agreed_tokens"`
	OnePass      *cell.OnePass `json:"one_pass"`
}

// Training is what a child says of the steps of a point: of a check what they
// gave, of a timed job what their parts took.
type Training struct {
	cell.Training
	PartsMS map[string][]float64 `json:"parts_ms"`
}

// Requests is what a child says of a point's requests, in mode pipeline.
type Requests struct {
	cell.Requests
	PartsMS map[string][]float64 `json:"parts_ms"`
}

// Moves is what a child says of a model that goes to its device and back: of a
// check what that does, of a timed job what it takes.
type Moves struct {
	cell.Moves
	PartsMS map[string][]float64 `json:"parts_ms"`
}

// Warmup is how the iterations before the timed ones went.
type Warmup struct {
	Count  int      `json:"count"`
	MeanMS *float64 `json:"mean_ms"`
	Stable *bool    `json:"stable"`
}
