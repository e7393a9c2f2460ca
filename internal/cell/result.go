package cell

import (
	"slices"
	"time"
)

// Schema is the version of the JSON vocabulary, at the top of every object.
const Schema = 1

// Verdict is what a result says about its cell.
type Verdict string

// The verdicts.
const (
	Works       Verdict = "works"
	Partial     Verdict = "partial"     // some nodes ran elsewhere, or the check could not be made
	Fails       Verdict = "fails"       // with class, detail, hint and log
	Unavailable Verdict = "unavailable" // no such device here, or no such thing in the model
	Unknown     Verdict = "unknown"     // tried, but the machine broke (a full disk): class environment, evidence none
)

// Evidence is how a verdict is known.
type Evidence string

// The kinds of evidence, strongest first.
const (
	Measured  Evidence = "measured"  // ran on that device
	Emulated  Evidence = "emulated"  // ran on the vendor's emulator or a software adapter
	Compiled  Evidence = "compiled"  // converted for the target, not run
	Derived   Evidence = "derived"   // from an operator table
	Predicted Evidence = "predicted" // from a model of past results
	None      Evidence = "none"
)

var strength = []Evidence{None, Predicted, Derived, Compiled, Emulated, Measured}

// Strength orders evidence: a larger number is stronger.
func (e Evidence) Strength() int { return slices.Index(strength, e) }

// Result is what the repeats of one attempt at a cell gave.
type Result struct {
	Cell        Cell     `json:"cell"`
	Asked       string   `json:"asked,omitempty"`        // hash of the cell as the plan had it, before adaptation and fallback
	Content     string   `json:"content,omitempty"`      // digest of the user's own files that the model was made of; "" for others
	SubjectHash string   `json:"subject_hash,omitempty"` // configuration, weights, inputs, recipe; comparisons need it equal
	Verdict     Verdict  `json:"verdict"`
	Evidence    Evidence `json:"evidence"`
	// Note is why a verdict is less than works, in a sentence, or a warning
	// that belongs beside the verdict.
	Note      string    `json:"note,omitempty"`
	Timing    Timing    `json:"timing"`
	Side      string    `json:"side,omitempty"` // a or b, where the repeats of two were interleaved
	Requested Settings  `json:"requested"`
	Actual    *Settings `json:"actual"` // nil when nothing ran
	Fallback  *Fallback `json:"fallback"`
	Failure   *Failure  `json:"failure"`

	Loaded     *Loaded            `json:"loaded,omitempty"` // nil for random weights
	Outputs    []Output           `json:"outputs"`
	Numerics   *Numerics          `json:"numerics"`
	Placement  *Placement         `json:"placement"`
	PhasesMS   map[string]float64 `json:"phases_ms"` // read, processor, build, convert, compile, to_device, warmup, first
	Latency    *Latency           `json:"latency"`
	Throughput *Throughput        `json:"throughput"`
	Memory     *Memory            `json:"memory"`
	EnergyJ    *float64           `json:"energy_j,omitempty"` // per inference, where the driver has a counter
	Export     *Exported          `json:"export,omitempty"`   // nil for engines that run the model itself
	Experts    *Experts           `json:"experts,omitempty"`  // of a mixture of experts; nil for other models, and where its routers cannot be watched
	// Kernels says what ran where a model has a choice: "reference" (torch), or
	// "fast:" with a package and its version. Nil for models without one.
	Kernels map[string]string `json:"kernels,omitempty"`

	// Fingerprint is what the reference gave, of a tiny model on the CPU in fp32;
	// Changed says how that differs from what was kept of another release.
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`
	Changed     *Changed     `json:"changed,omitempty"`

	// Laws are those that a right model obeys, tried where the plan asks for them
	// on the CPU in fp32. A broken one is a finding about the model's own code: the
	// verdict, which is about where it ran, stays.
	Laws []Law `json:"laws,omitempty"`

	// Generation describes the tokens, in mode generate.
	Generation *Generation `json:"generation,omitempty"`

	// Training describes the steps, in mode train.
	Training *Training `json:"training,omitempty"`

	// Pipeline describes whole requests, in mode pipeline.
	Pipeline *Requests `json:"pipeline,omitempty"`

	// Interference describes the company of other models, in scenario concurrent.
	Interference *Interference `json:"interference,omitempty"`

	// Moves describes going to the device and back, in scenario moves.
	Moves *Moves `json:"moves,omitempty"`

	// Ranks describes how processes or devices shared the work; nil is one alone.
	Ranks *Ranks `json:"ranks,omitempty"`

	HarnessCPUFraction *float64  `json:"harness_cpu_fraction"`
	OverheadMS         *float64  `json:"overhead_ms,omitempty"` // of the child that checked it: dispatch to exit, less the phases timed in it
	Parameters         int64     `json:"parameters,omitempty"`
	Attempts           int       `json:"attempts"`
	Context            Context   `json:"context"`
	StartedAt          time.Time `json:"started_at"`
}

// AskedHash is the hash of the cell that a result answers: of the one that was
// asked for, also where memory made it smaller. A result that ran elsewhere in an absent
// device's place answers the cell that ran, and so do those of older versions.
func (r Result) AskedHash() string {
	if r.Asked == "" || r.Fallback != nil && r.Fallback.From != "" {
		return r.Cell.Hash
	}
	return r.Asked
}

// SpeaksFor are the hashes of the cells that a result is about: what ran, and
// what it answers.
func (r Result) SpeaksFor() []string { return []string{r.Cell.Hash, r.AskedHash()} }

// Loaded tells which given weights a model had, and how they fitted it.
type Loaded struct {
	Commit string `json:"commit,omitempty"` // of the checkpoint on the Hub
	Digest string `json:"digest,omitempty"` // over the bytes of the weights
	// Missing are the model's tensors that the weights lack: they were drawn
	// at random. Unused are tensors of the weights that the model has no place for.
	Missing []string `json:"missing,omitempty"`
	Unused  []string `json:"unused,omitempty"`
}

// Settings are those that fallback and adaptation may change.
type Settings struct {
	Target string `json:"target"`
	DType  string `json:"dtype"`
	Batch  int    `json:"batch"`
	Seq    int    `json:"seq,omitempty"`
	Image  int    `json:"image,omitempty"`
}

// SettingsOf returns the cell's own.
func SettingsOf(c Cell) Settings {
	return Settings{c.Target, string(c.DType), c.Batch, c.Seq, c.Image}
}

// Fallback links the asked target's result to the other target's own.
type Fallback struct {
	To     string `json:"to,omitempty"`   // on the asked target's result: where it went
	From   string `json:"from,omitempty"` // on the other target's result: what was asked
	Reason string `json:"reason"`
	Cost   *Cost  `json:"cost"`              // nil when the two sides were not timed on one host and subject
	NoCost string `json:"no_cost,omitempty"` // why there is none
}

// Cost is how much slower the fallback is, as a ratio of latencies.
type Cost struct {
	Ratio    float64  `json:"ratio"`
	Evidence Evidence `json:"evidence"`
}

// Failure says why a cell fails.
type Failure struct {
	Class  FailureClass `json:"class"`
	Detail string       `json:"detail"` // one line: the error, shortened
	Hint   string       `json:"hint"`   // what to do
	Log    string       `json:"log"`    // the child's output, bounded
}

// FailureClass is one of a fixed set; each has a hint.
type FailureClass string

// The failure classes.
const (
	UnsupportedOperator FailureClass = "unsupported-operator"
	UnsupportedDType    FailureClass = "unsupported-dtype"
	OutOfMemory         FailureClass = "out-of-memory"
	Timeout             FailureClass = "timeout"
	Crash               FailureClass = "crash"
	Driver              FailureClass = "driver"
	MissingDependency   FailureClass = "missing-dependency"
	MissingWeights      FailureClass = "missing-weights"
	Export              FailureClass = "export"
	WrongOutput         FailureClass = "wrong-output"
	Environment         FailureClass = "environment"  // the machine broke: never counted against the model
	Harness             FailureClass = "harness"      // Assay's own code broke, or a library is not what it expects: never counted against the model
	ModelError          FailureClass = "model-error"  // the model's own code raised, and no other class fits
	BeyondAssay         FailureClass = "beyond-assay" // Assay itself cannot run such a model there yet: no failure of the platform's
	Unsuited            FailureClass = "unsuited"     // asked for what its model cannot have: nothing ran, and the verdict is unavailable
)

// Classes lists the failure classes in their fixed order.
func Classes() []FailureClass {
	return []FailureClass{UnsupportedOperator, UnsupportedDType, OutOfMemory, Timeout, Crash, Driver,
		MissingDependency, MissingWeights, Export, WrongOutput, Environment, Harness, ModelError, BeyondAssay, Unsuited}
}

// OfModel reports whether a failure of the class says something of the model or
// its platform: not where the machine broke, or Assay itself.
func (c FailureClass) OfModel() bool { return c != Environment && c != Harness }

// Broke reports whether a result says nothing about its model because the machine,
// or Assay itself, broke under it.
func (r Result) Broke() bool { return r.Failure != nil && !r.Failure.Class.OfModel() }

// Suits reports whether the cell asked for something that its model can have.
func (r Result) Suits() bool { return r.Failure == nil || r.Failure.Class != Unsuited }

// Output describes one tensor that the model gave.
type Output struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	DType string `json:"dtype"`
}

// Placement says which nodes ran where.
type Placement struct {
	Device string         `json:"device"`          // where the parameters and outputs were seen
	Nodes  map[string]int `json:"nodes,omitempty"` // provider or device → count of operations
	// LeftOver are operations that did not run where they were asked to.
	LeftOver []LeftOver `json:"left_over,omitempty"`
	// Counters are what one run of the check spent where, the longest first,
	// for engines that count.
	Counters []Counter `json:"counters,omitempty"`
}

// Counter is the operations of one kind that ran with one kernel.
type Counter struct {
	Operator string `json:"operator"`
	Kernel   string `json:"kernel"`
	Count    int    `json:"count"`
	US       int64  `json:"us"` // microseconds, all of them together
}

// LeftOver counts the operations of one kind that ran elsewhere, with the
// engine's reason where it gives one.
type LeftOver struct {
	Operator string `json:"operator"`
	Count    int    `json:"count"`
	Where    string `json:"where"`
	Why      string `json:"why,omitempty"`
}

// Experts counts which experts of a mixture saw a token while the cell was checked.
type Experts struct {
	Layers    int     `json:"layers"`
	Experts   int     `json:"experts"` // of a layer; of the largest, where they differ
	Used      []int   `json:"used"`    // experts that saw a token, layer by layer
	UsedShare float64 `json:"used_share"`
}

// Idle reports whether some layer used fewer than two experts: such a check
// says little about the choice between them.
func (e *Experts) Idle() bool {
	return e.Experts > 1 && slices.ContainsFunc(e.Used, func(n int) bool { return n < 2 })
}

// Latency holds statistics over repeats. The unit is the repeat, never the
// iteration: the headline is the median of the repeats' medians.
type Latency struct {
	Repeats       int         `json:"repeats"`
	N             int         `json:"n"` // iterations over all repeats
	MedianMS      float64     `json:"median_ms"`
	LoMS          *float64    `json:"lo_ms"` // nil with fewer than six repeats
	HiMS          *float64    `json:"hi_ms"`
	MinMS         float64     `json:"min_ms"`
	MaxMS         float64     `json:"max_ms"`
	P90MS         *float64    `json:"p90_ms"` // nil when n is too small
	P95MS         *float64    `json:"p95_ms"`
	P99MS         *float64    `json:"p99_ms"`
	CVWithin      *float64    `json:"cv_within"`  // nil when no repeat has two iterations
	CVBetween     *float64    `json:"cv_between"` // nil with one repeat
	Stable        bool        `json:"stable"`
	Why           string      `json:"why,omitempty"`             // why it is not stable
	Sync          string      `json:"sync,omitempty"`            // "host-dispatch only" when the device could not be synchronised
	Hidden        bool        `json:"hidden,omitempty"`          // the page that ran it was out of view in some repeat
	DeviceMS      *float64    `json:"device_ms,omitempty"`       // median by the device's own events
	CPUMSPerIter  *float64    `json:"cpu_ms_per_iter,omitempty"` // process CPU time per iteration, a second witness
	PaceMS        [][]float64 `json:"pace_ms,omitempty"`         // how long a fixed loop took before and after each repeat's samples
	WarmupCount   int         `json:"warmup_count,omitempty"`
	WarmupMeanMS  *float64    `json:"warmup_mean_ms,omitempty"`
	WarmupStable  *bool       `json:"warmup_stable,omitempty"` // whether it ended because the last windows agreed
	SamplesMS     [][]float64 `json:"samples_ms"`              // one list a repeat
	DeviceSamples [][]float64 `json:"device_samples_ms,omitempty"`
}

// Throughput is derived from the latency and the batch.
type Throughput struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // items_per_s
}

// Memory is taken apart from timed iterations. Nil is unknown, never zero.
type Memory struct {
	HostBaselineBytes   *int64 `json:"host_baseline_bytes"` // inherited imports
	HostPeakBytes       *int64 `json:"host_peak_bytes"`
	DeviceBaselineBytes *int64 `json:"device_baseline_bytes,omitempty"` // what the device held before
	DevicePeakBytes     *int64 `json:"device_peak_bytes"`               // by the driver's counter, whoever uses it
	FrameworkPeakBytes  *int64 `json:"framework_peak_bytes"`
}

// Context is what of the machine's state matters to a measurement. Empty
// means unknown.
type Context struct {
	Versions           map[string]string `json:"versions,omitempty"` // python, torch, transformers, driver, assay, …
	Governor           string            `json:"governor,omitempty"`
	ClockMHz           []float64         `json:"clock_mhz,omitempty"`     // before and after
	TemperatureC       []float64         `json:"temperature_c,omitempty"` // before and after
	Throttled          *bool             `json:"throttled,omitempty"`
	DeviceClockMHz     []float64         `json:"device_clock_mhz,omitempty"` // before and after, of the accelerator
	DeviceTemperatureC []float64         `json:"device_temperature_c,omitempty"`
	DeviceThrottled    *bool             `json:"device_throttled,omitempty"`
	DeviceMemoryBytes  *int64            `json:"device_memory_bytes,omitempty"` // what the device has, or the system recommends to use of it
	UnifiedMemory      *bool             `json:"unified_memory,omitempty"`      // whether it is the host's own
	Variables          map[string]string `json:"variables,omitempty"`           // of the environment: those that hide devices or change what runs there
	Affinity           int               `json:"affinity,omitempty"`            // CPUs that the child may run on
	Pinned             string            `json:"pinned,omitempty"`              // to these, as asked for: 0-3,8
	Turbo              *bool             `json:"turbo,omitempty"`               // whether the processor may raise its clock beyond the usual
	TF32               *bool             `json:"tf32,omitempty"`                // whether fp32 products may be computed in TF32
	PowerSource        string            `json:"power_source,omitempty"`        // mains, battery
	LoadBefore         *float64          `json:"load_before,omitempty"`
	Threads            int               `json:"threads,omitempty"`
	JobsBefore         int               `json:"jobs_before,omitempty"`   // that the same child had carried out; 0 is a fresh one
	InputsInside       string            `json:"inputs_inside,omitempty"` // what a sample includes: "forward only; inputs resident on the device"
	AttnImpl           string            `json:"attn_implementation,omitempty"`
	EngineSettings     map[string]string `json:"engine_settings,omitempty"` // as the engine tells them: hints, streams, threads
	Precisions         map[string]int    `json:"precisions,omitempty"`      // what the nodes computed in → how many
	Browser            *Browser          `json:"browser,omitempty"`         // nil: no page ran it
	EnvironmentID      string            `json:"environment,omitempty"`
}

// Run is one plan on one host.
type Run struct {
	ID        string    `json:"id"`
	StartedAt time.Time `json:"started_at"`
	PlanHash  string    `json:"plan_hash"`
	Command   string    `json:"command,omitempty"` // test, bench, matrix, worker, web-lab
	Name      string    `json:"name,omitempty"`    // that the user gave it; several runs may have one
	Assay     string    `json:"assay,omitempty"`   // version
}

// Host is a machine's fingerprint and fixed facts.
type Host struct {
	ID          string   `json:"id"` // hash of the facts below; no serial numbers, no names
	OS          string   `json:"os"`
	Kernel      string   `json:"kernel,omitempty"`
	Arch        string   `json:"arch"`
	CPU         string   `json:"cpu"`
	Cores       int      `json:"cores"`
	MemoryBytes int64    `json:"memory_bytes"`
	Instance    string   `json:"instance,omitempty"` // cloud instance type, from DMI; or the model of a phone
	Devices     []string `json:"devices,omitempty"`
	// Machine is what stays over reboots, kernels and containers; nil in results of
	// older versions.
	Machine *Machine `json:"machine,omitempty"`
}

// Report is the top level of test --json and bench --json.
type Report struct {
	Schema  int      `json:"schema"`
	Run     Run      `json:"run"`
	Host    Host     `json:"host"`
	Results []Result `json:"results"`
}
