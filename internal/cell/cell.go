// Package cell has the values that everything else is about: a cell (a model on a
// target with its settings), a plan (cells in order), and the result of
// running a cell, with its verdict and evidence.
//
// The types here are plain values: validated, comparable where it matters, and
// written as the one JSON vocabulary that --json, journals and reports share.
// It is a leaf beside platform; running things know cells, cells know nothing
// about running things.
package cell

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"assay/internal/platform"
)

// The sizes, weights and modes a cell may have.
const (
	Tiny = "tiny" // shrunk by rule; a result of the type, never of a checkpoint
	Full = "full" // the true size of a known checkpoint

	Random = "random" // drawn by rule from the seed, the same bits everywhere
	Hub    = "hub"    // the checkpoint's own weights

	Infer    = "infer"
	Generate = "generate" // a prompt is continued by a fixed number of tokens
	Train    = "train"    // forward, backward and the optimiser's step
	Pipeline = "pipeline" // raw material is read, the model runs, its outputs become an answer
)

// DefaultTokens is how many tokens mode generate adds where nobody says.
const DefaultTokens = 16

// Modes lists what a cell may do with its model.
func Modes() []string { return []string{Infer, Generate, Train, Pipeline} }

// ONNX is the type of a user's own ONNX file; the checkpoint is its path.
const ONNX = "onnx"

// Cell is a model on a target with its settings. Zero fields mean the default;
// Normal fills those in that have one value everywhere, and leaves alone those
// that the recipe or the machine decides (Seq, Image, Threads, Task, Class).
type Cell struct {
	Type       string          `json:"type"`
	Checkpoint string          `json:"checkpoint,omitempty"`
	Revision   string          `json:"revision,omitempty"` // of the checkpoint on the Hub; "" is its main one
	Class      string          `json:"class,omitempty"`    // derived from type and task; not hashed
	Task       string          `json:"task,omitempty"`     // task head; "" is the type's default one
	Family     string          `json:"family,omitempty"`   // derived; not hashed
	Target     string          `json:"target,omitempty"`   // Platform, Device, Engine, Browser in one string; not hashed
	Platform   platform.Name   `json:"platform,omitempty"` // a whole target is taken too, and split by Normal
	Device     string          `json:"device,omitempty"`
	Engine     platform.Engine `json:"engine,omitempty"`
	Browser    string          `json:"browser,omitempty"`
	Size       string          `json:"size,omitempty"`
	Weights    string          `json:"weights,omitempty"` // random, hub, or a folder's path
	DType      platform.DType  `json:"dtype,omitempty"`
	Batch      int             `json:"batch,omitempty"`
	Seq        int             `json:"seq,omitempty"`   // tokens; 0 is the recipe's
	Image      int             `json:"image,omitempty"` // pixels a side; 0 is the recipe's
	Threads    int             `json:"threads,omitempty"`
	Seed       int             `json:"seed,omitempty"`
	Mode       string          `json:"mode,omitempty"`
	Tokens     int             `json:"tokens,omitempty"`  // that mode generate adds; 0 is DefaultTokens
	Procs      int             `json:"procs,omitempty"`   // processes that share the work; 0 is one
	Company    string          `json:"company,omitempty"` // models that run at the same time, itself included, in scenario concurrent
	Special                    // only some engines have these
	Hash       string          `json:"hash,omitempty"` // of the normalised cell; not hashed
}

// Where returns the cell's target.
func (c Cell) Where() platform.Target {
	return platform.Target{Platform: c.Platform, Device: c.Device, Engine: c.Engine, Browser: c.Browser}
}

// On returns the cell moved to another target. A setting that the engine there
// does not have is dropped.
func (c Cell) On(t platform.Target) Cell {
	t = t.Normal()
	c.Platform, c.Device, c.Engine, c.Browser = t.Platform, t.Device, t.Engine, t.Browser
	for _, s := range special {
		if v := s.Of(&c.Special); !s.has(t.Engine.Traits(), *v) {
			*v = ""
		}
	}
	return c.Normal()
}

// Normal returns the cell with its defaults filled in, its target in one
// string, and its hash.
func (c Cell) Normal() Cell {
	c = c.filled()
	c.Hash = Key{c.bare()}.Hash()
	return c
}

// filled is the normal cell without its hash, which takes longer than all else.
func (c Cell) filled() Cell {
	if c.Target != "" && c.Platform == "" {
		if t, err := platform.ParseTarget(c.Target); err == nil {
			c.Platform, c.Device, c.Engine, c.Browser = t.Platform, t.Device, t.Engine, t.Browser
		}
	}
	if c.Platform == "" {
		c.Platform = platform.CPU
	}
	if split, err := c.split(); err == nil {
		c = split
	}
	if p, err := platform.Parse(string(c.Platform)); err == nil {
		c.Platform = p.Name
	}
	t := c.Where().Normal()
	c.Device, c.Engine, c.Target = t.Device, t.Engine, t.String()
	set(&c.Size, Tiny)
	set(&c.Weights, Random)
	set(&c.Mode, Infer)
	if c.DType == "" {
		c.DType = t.DType()
	}
	if d, err := platform.ParseDType(string(c.DType)); err == nil {
		c.DType = d
	}
	if c.Batch == 0 {
		c.Batch = 1
	}
	if c.Mode == Generate && c.Tokens == DefaultTokens {
		c.Tokens = 0 // so that hashes are those of cells from before it could be chosen
	}
	for _, s := range special {
		if v := s.Of(&c.Special); *v == s.Values[0] {
			*v = ""
		}
	}
	if c.Scenario != Concurrent {
		c.Company = ""
	}
	return c
}

func set(s *string, v string) {
	if *s == "" {
		*s = v
	}
}

// hashVersion changes when the meaning of a hashed field does.
const hashVersion = "1"

// Hash is the key in short: over the fields that decide what is run.
// Zero fields are left out, so a setting added later keeps the hashes of older cells.
func (k Key) Hash() string {
	sum := sha256.Sum256(append([]byte("cell/"+hashVersion+"\n"), k.String()...))
	return hex.EncodeToString(sum[:8])
}

// Validate says in a sentence what is wrong with the cell, if anything.
func (c Cell) Validate() error {
	if c.Type == "" {
		return fmt.Errorf("a cell needs a type, such as \"bert\"")
	}
	if strings.ContainsAny(c.Type, "/\\ \n\x00") || c.Type == ".." {
		return fmt.Errorf("%q is not a model type: a type has no slashes or spaces", c.Type)
	}
	if c.Via == platform.TransformersJS && (c.Start != "" || c.FrontEnd != "") {
		return fmt.Errorf("transformers.js has its own front ends and warm-up: omit --warm and --front-end with --via %s", c.Via)
	}
	if c.Revision != "" && c.Checkpoint == "" {
		return fmt.Errorf("revision %q needs a checkpoint, and the cell names none", c.Revision)
	}
	if _, err := c.split(); err != nil {
		return err
	}
	n := c.Normal()
	p, err := platform.Parse(string(n.Platform))
	if err != nil {
		return err
	}
	if n.Browser != "" && !n.Engine.Traits().Pages {
		return fmt.Errorf("%s does not run in a browser: leave %s out", n.Engine, n.Browser)
	}
	if c.Target != "" {
		t, err := platform.ParseTarget(c.Target)
		if err != nil {
			return err
		}
		if t != n.Where() {
			return fmt.Errorf("target %s contradicts platform %s, device %q, engine %s: give one of them", t, n.Platform, n.Device, n.Engine)
		}
	}
	if !p.HasEngine(n.Engine) {
		return fmt.Errorf("engine %q does not run on %s", n.Engine, n.Platform)
	}
	if _, err := platform.ParseDType(string(n.DType)); err != nil {
		return err
	}
	if !slices.Contains([]string{Tiny, Full}, n.Size) {
		return fmt.Errorf("unknown size %q: the sizes are tiny, full", n.Size)
	}
	if err := n.doable(); err != nil {
		return err
	}
	for _, s := range special {
		v := *s.Of(&n.Special)
		switch {
		case v == "":
		case s.Mode != "" && s.Mode != n.Mode:
			return fmt.Errorf("%s %q is for mode %s: leave --%s out, or add --mode %s", s.Name, v, s.Mode, s.Flag, s.Mode)
		case !slices.Contains(s.Values, v):
			return fmt.Errorf("unknown %s %q: it must be one of %s", s.Name, v, strings.TrimPrefix(strings.Join(s.Values, ", "), ", "))
		case !s.has(n.Engine.Traits(), v):
			return fmt.Errorf("the engine %s has no %s %q: leave --%s out for %s", n.Engine, s.Name, v, s.Flag, n.Target)
		}
	}
	for _, f := range []struct {
		name   string
		v, max int
	}{{"batch", n.Batch, 65536}, {"seq", n.Seq, 1 << 20}, {"image", n.Image, 16384}, {"threads", n.Threads, 4096}, {"seed", n.Seed, 1 << 31}, {"tokens", n.Tokens, 1 << 20}, {"procs", n.Procs, 64}} {
		if f.v < 0 || f.v > f.max {
			return fmt.Errorf("%s %d is out of range: it must be between 0 and %d", f.name, f.v, f.max)
		}
	}
	return n.pair() // the last: all else is right then
}

// doable says what is wrong with the cell's mode on its engine, if anything.
func (c Cell) doable() error {
	t := c.Engine.Traits()
	switch {
	case !slices.Contains(Modes(), c.Mode):
		return fmt.Errorf("unknown mode %q: the modes are %s", c.Mode, strings.Join(Modes(), ", "))
	case c.Mode == Generate && !t.Generates, c.Mode == Train && !t.Trains, c.Mode == Pipeline && !t.Answers:
		return fmt.Errorf("the engine %s has no mode %s: leave --mode out for %s", c.Engine, c.Mode, c.Target)
	case c.Tokens != 0 && c.Mode != Generate:
		return fmt.Errorf("tokens %d is for mode generate: leave --tokens out, or add --mode generate", c.Tokens)
	case c.Tokens != 0 && !t.Lengths:
		return fmt.Errorf("the engine %s generates %d tokens, no other number: leave --tokens out for %s", c.Engine, DefaultTokens, c.Target)
	case c.Mode == Train && c.DType == platform.FP16:
		return fmt.Errorf("weights in fp16 cannot be trained: their updates and squares of gradients are too small for it; use --mixed fp16, which keeps weights in fp32")
	case c.Scenario == ForThroughput && c.Mode != Infer && c.Engine == platform.Torch:
		return fmt.Errorf("the engine %s has no scenario throughput in mode %s: leave --scenario or --mode out", c.Engine, c.Mode)
	case c.Scenario == Moving && c.Platform == platform.CPU:
		return fmt.Errorf("a model is made on the cpu, and --scenario moves takes it to another device and back: name that with --platform, such as cuda")
	case c.Scenario == Moving && (c.Mode != Infer || c.Parallel != ""):
		return fmt.Errorf("--scenario moves is of one model in mode infer: leave --mode and --parallel out")
	case c.shared() != nil:
		return c.shared()
	case c.Mixed != "" && c.DType != platform.FP32:
		return fmt.Errorf("mixed precision has weights in fp32, and %s was asked for: leave --dtype or --mixed out", c.DType)
	}
	return nil
}

// shared says what is wrong with how processes share the cell's work, if
// anything.
func (c Cell) shared() error {
	training := c.Parallel == DataParallel || c.Parallel == ShardedData
	switch {
	case c.Procs > 1 && c.Engine != platform.Torch:
		return fmt.Errorf("procs %d: the engine %s has one process: leave --procs out for %s", c.Procs, c.Engine, c.Target)
	case c.Procs > 1 && c.Parallel == "":
		return fmt.Errorf("procs %d needs a way to share the work: add --parallel ddp or fsdp with --mode train, --parallel tp otherwise", c.Procs)
	case c.Procs > 1 && c.Parallel == LayerSplit:
		return fmt.Errorf("--parallel layers is one process over several devices: leave --procs out")
	case c.Procs < 2 && c.Parallel != "" && c.Parallel != LayerSplit && c.Procs != 1:
		return fmt.Errorf("--parallel %s needs --procs, such as --procs 2", c.Parallel)
	case training != (c.Mode == Train) && c.Parallel != "":
		return fmt.Errorf("--parallel %s is not for mode %s: ddp and fsdp are for mode train, tp and layers for mode infer", c.Parallel, c.Mode)
	case c.Parallel != "" && !training && c.Mode != Infer:
		return fmt.Errorf("--parallel %s is for mode infer: leave --mode %s out", c.Parallel, c.Mode)
	case training && c.Procs > 0 && c.Batch%c.Procs != 0:
		return fmt.Errorf("a batch of %d cannot be shared evenly by %d processes: give a --batch that is a multiple of --procs", c.Batch, c.Procs)
	case c.Procs > 1 && (c.Adapters != "" || c.Mixed != "" || c.Activations != ""):
		return fmt.Errorf("several processes train plainly: leave --lora, --mixed and --checkpointing out with --procs")
	}
	return nil
}

// PairError says that a target and a dtype do not fit each other. In a sweep over
// many of both that is not the sweep's fault.
type PairError struct {
	Target platform.Target
	DType  platform.DType
}

func (e *PairError) Error() string {
	return fmt.Sprintf("%s does not run in %s: its dtypes are %s", e.Target, e.DType, platform.Join(e.Target.DTypes()))
}

func (c Cell) pair() error {
	if t := c.Where(); !t.HasDType(c.DType) {
		return &PairError{t, c.DType}
	}
	return nil
}

// Pair says what is wrong with the cell's target and dtype together, if
// anything: nobody can run such a cell.
func (c Cell) Pair() error { return c.Normal().pair() }

// Model is how people call the cell's model: the checkpoint if it has one.
func (c Cell) Model() string {
	switch {
	case c.Checkpoint == "":
		return c.Type
	case c.Revision != "":
		return c.Checkpoint + "@" + c.Revision
	}
	return c.Checkpoint
}
