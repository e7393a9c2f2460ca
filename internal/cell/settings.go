package cell

import (
	"slices"

	"assay/internal/platform"
)

// The values of settings that only some engines have.
const (
	ForLatency    = "latency"    // one inference after the other; written as ""
	ForThroughput = "throughput" // as many in flight as the device likes
	Concurrent    = "concurrent" // beside other models on the same device
	Moving        = "moves"      // to the device and back, again and again

	StaticShapes  = "static"  // a graph of fixed shapes; written as ""
	DynamicShapes = "dynamic" // batch and length stay free in it

	ColdStart = "cold" // the first request compiles what is compiled when first needed; written as ""
	WarmStart = "warm" // a run on blank inputs did before it

	NoFrontEnd = "none" // inputs are drawn as the model takes them; written as ""
	InPage     = "page" // the page makes an input of raw sound or frames

	DynamicCache = "dynamic" // keys and values of past tokens in memory that grows; written as ""
	StaticCache  = "static"  // in memory of a fixed size
	NoCache      = "off"     // every token reads all before it again

	AdamW = "adamw" // written as ""
	SGD   = "sgd"

	Kept       = "kept"       // what the forward made stays for the backward; written as ""
	Recomputed = "recomputed" // it is made again: gradient checkpointing

	LoRA = "lora" // small matrices beside the weights are trained in their place

	DataParallel   = "ddp"    // each process has the whole model and its share of the batch
	ShardedData    = "fsdp"   // each process has its share of the weights too
	TensorParallel = "tp"     // each process computes its share of every layer
	LayerSplit     = "layers" // each device has its share of the layers
)

// Special are the settings that only some engines have; "" is the default. A new
// one is a field here and a row of the table below: flags, plans, sentences and
// reports follow from the two, and SQL finds it in result->'$.cell'.
type Special struct {
	Scenario string `json:"scenario,omitempty"`  // "" is latency; the two are never compared
	Shapes   string `json:"shapes,omitempty"`    // of an exported graph; "" is static
	Via      string `json:"via,omitempty"`       // how an engine gets the model: onnx, torch, transformers.js; "" is the first that goes
	Start    string `json:"start,omitempty"`     // "" is cold
	FrontEnd string `json:"front_end,omitempty"` // "" is none: where raw material becomes the model's input
	Block    string `json:"block,omitempty"`     // weights of few bits that share a scale, in browsers; "" is 32
	Accuracy string `json:"accuracy,omitempty"`  // level of products with them: "" is 0, in fp32; 4 rounds activations
	Cache    string `json:"cache,omitempty"`     // of mode generate: keys and values of past tokens; "" is dynamic

	Optimizer   string `json:"optimizer,omitempty"`   // of mode train; "" is adamw
	Activations string `json:"activations,omitempty"` // of mode train; "" is kept
	Mixed       string `json:"mixed,omitempty"`       // of mode train: what products are computed in beside weights in fp32; "" is fp32 too
	Adapters    string `json:"adapters,omitempty"`    // of mode train: what is trained in place of the weights; "" is nothing, the weights are

	Parallel string `json:"parallel,omitempty"` // how several processes or devices share the work; "" is one alone
}

// Setting is one of the special settings, as data.
type Setting struct {
	Name   string   // in sentences
	Flag   string   // by which users set it
	Help   string   // of the flag
	Values []string // the first is the default, which is left out of a normal cell
	// Mode is the one that it belongs to; "" is any.
	Mode string
	// Switch is the value that the flag stands for where it takes none; "" is a
	// flag that takes a value.
	Switch string
	// Label stands before the value in tables, where the value alone would not
	// say what it is of.
	Label string
	// Of is where the value is kept.
	Of func(*Special) *string
	// has says whether an engine has a value.
	has func(t platform.Traits, value string) bool
}

// special are all of them.
var special = []Setting{
	{Name: "scenario", Flag: "scenario", Values: []string{ForLatency, ForThroughput, Moving, Concurrent},
		Help: "latency, throughput, moves or concurrent: one inference after the other; several in flight (torch, onnxruntime, openvino); a model that goes to its device and back (torch); with assay bench, all requested models at once on a device, each against itself alone (default latency)",
		Of:   func(s *Special) *string { return &s.Scenario }, has: hasScenario},
	{Name: "shapes", Flag: "shapes", Values: []string{StaticShapes, DynamicShapes},
		Help: "static or dynamic: shapes of an exported graph (default static)",
		Of:   func(s *Special) *string { return &s.Shapes }, has: func(t platform.Traits, _ string) bool { return t.Graphs }},
	{Name: "via", Flag: "via", Values: []string{"", "onnx", "torch", platform.TransformersJS},
		Help: "onnx or torch: how OpenVINO gets the model (default: onnx, and torch where that fails); transformers.js: through its pipeline, in browsers",
		Of:   func(s *Special) *string { return &s.Via }, has: func(t platform.Traits, way string) bool { return slices.Contains(t.Ways, way) }},
	{Name: "start", Flag: "warm", Values: []string{ColdStart, WarmStart}, Switch: WarmStart,
		Help: "in a browser, run on blank inputs before the first request, so that shaders are compiled by then",
		Of:   func(s *Special) *string { return &s.Start }, has: inPages},
	{Name: "front end", Flag: "front-end", Values: []string{NoFrontEnd, InPage}, Label: "front end in",
		Help: "none or page: in a browser, whether the page itself makes the model's input from raw audio or frames (default none)",
		Of:   func(s *Special) *string { return &s.FrontEnd }, has: inPages},
	{Name: "block size", Flag: "block", Values: []string{"32", "16", "64", "128"}, Label: "block",
		Help: "16, 32, 64 or 128: weights of w8 and w4 that share a scale, in browsers (default 32)",
		Of:   func(s *Special) *string { return &s.Block }, has: keepsBlocks},
	{Name: "accuracy level", Flag: "accuracy", Values: []string{"0", "4"}, Label: "accuracy",
		Help: "0 or 4: level of products with such weights, in browsers: in fp32, or with activations of 8 bits (default 0)",
		Of:   func(s *Special) *string { return &s.Accuracy }, has: keepsBlocks},
	{Name: "cache", Flag: "cache", Values: []string{DynamicCache, StaticCache, NoCache}, Label: "cache", Mode: Generate,
		Help: "dynamic, static or off: with --mode generate, how torch keeps the keys and values of past tokens (default dynamic)",
		Of:   func(s *Special) *string { return &s.Cache }, has: func(t platform.Traits, _ string) bool { return t.Caches }},
	{Name: "optimizer", Flag: "optimizer", Values: []string{AdamW, SGD}, Mode: Train,
		Help: "adamw or sgd: with --mode train (default adamw)",
		Of:   func(s *Special) *string { return &s.Optimizer }, has: trains},
	{Name: "activations", Flag: "checkpointing", Values: []string{Kept, Recomputed}, Switch: Recomputed, Label: "activations", Mode: Train,
		Help: "with --mode train, compute activations again for the backward instead of keeping them: gradient checkpointing",
		Of:   func(s *Special) *string { return &s.Activations }, has: trains},
	{Name: "mixed precision", Flag: "mixed", Values: []string{"", "bf16", "fp16"}, Label: "mixed", Mode: Train,
		Help: "bf16 or fp16: with --mode train, products in half precision beside weights in fp32 (default: all in the dtype)",
		Of:   func(s *Special) *string { return &s.Mixed }, has: trains},
	{Name: "adapters", Flag: "lora", Values: []string{"", LoRA}, Switch: LoRA, Mode: Train,
		Help: "with --mode train, train adapters beside frozen weights, by peft: LoRA of rank 8 on every linear layer",
		Of:   func(s *Special) *string { return &s.Adapters }, has: trains},
	{Name: "way of sharing", Flag: "parallel", Values: []string{"", DataParallel, ShardedData, TensorParallel, LayerSplit},
		Help: "ddp or fsdp with --mode train, tp or layers otherwise: how the --procs processes, or the devices of a platform, share a model (torch)",
		Of:   func(s *Special) *string { return &s.Parallel }, has: trains},
}

func hasScenario(t platform.Traits, v string) bool {
	switch v {
	case Concurrent:
		return t.Company
	case Moving:
		return t.Moves
	}
	return t.Throughput
}

func inPages(t platform.Traits, _ string) bool     { return t.Pages }
func trains(t platform.Traits, _ string) bool      { return t.Trains }
func keepsBlocks(t platform.Traits, _ string) bool { return t.Blocks }

// SpecialSettings lists the settings that only some engines have.
func SpecialSettings() []Setting { return slices.Clone(special) }

// Words are the values that are set, as tables show them: "throughput",
// "block 16".
func (s Special) Words() []string {
	var out []string
	for _, x := range special {
		v := *x.Of(&s)
		switch {
		case v == "":
		case x.Label != "":
			out = append(out, x.Label+" "+v)
		default:
			out = append(out, v)
		}
	}
	return out
}
