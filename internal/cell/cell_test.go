package cell

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func draw(t *rapid.T) Cell {
	p := rapid.SampledFrom(platform.All()).Draw(t, "platform")
	where := platform.Target{Platform: p.Name, Engine: rapid.SampledFrom(p.Engines).Draw(t, "engine")}
	return Cell{
		Type:     rapid.SampledFrom([]string{"bert", "vit", "noop"}).Draw(t, "type"),
		Platform: p.Name,
		Device:   rapid.SampledFrom([]string{"", "1"}).Draw(t, "device"),
		Engine:   where.Engine,
		DType:    rapid.SampledFrom(where.DTypes()).Draw(t, "dtype"),
		Size:     rapid.SampledFrom([]string{"", Tiny, Full}).Draw(t, "size"),
		Batch:    rapid.IntRange(0, 8).Draw(t, "batch"),
		Seq:      rapid.IntRange(0, 64).Draw(t, "seq"),
		Seed:     rapid.IntRange(0, 3).Draw(t, "seed"),
	}
}

func TestNormalIsIdempotentAndSurvivesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		if err := c.Validate(); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		n := c.Normal()
		if n.Normal() != n {
			t.Fatalf("not idempotent: %+v then %+v", n, n.Normal())
		}
		b, _ := json.Marshal(n)
		var back Cell
		if err := json.Unmarshal(b, &back); err != nil || back != n {
			t.Fatalf("%s came back as %+v, %v", b, back, err)
		}
	})
}

func TestHashTellsCellsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t).Normal(), draw(t).Normal()
		if (a == b) != (a.Hash == b.Hash) {
			t.Fatalf("hashes %s and %s for\n%+v\n%+v", a.Hash, b.Hash, a, b)
		}
	})
}

// The hash of a plain cell is part of every journal ever written: it must not
// change when a field is added.
func TestHashStaysTheSame(t *testing.T) {
	t.Parallel()
	if got := (Cell{Type: "bert"}).Normal().Hash; got != "79744fbc44ddc218" {
		t.Errorf("hash of the plain bert cell is now %s; stored journals would no longer match", got)
	}
	derived := Cell{Type: "bert", Class: "BertForMaskedLM", Family: "encoder-only"}.Normal()
	if derived.Hash != (Cell{Type: "bert"}).Normal().Hash {
		t.Error("class and family are derived and must not change the hash")
	}
}

func TestValidateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		c    Cell
		want string
	}{
		{Cell{}, "needs a type"},
		{Cell{Type: "../etc/passwd"}, "no slashes"},
		{Cell{Type: "bert", Platform: "tpu"}, "the platforms are"},
		{Cell{Type: "bert", Target: "gpu:0"}, "the platforms are"},
		{Cell{Type: "bert", DType: "fp12"}, "the dtypes are"},
		{Cell{Type: "bert", DType: "int8"}, "cpu does not run in int8"},
		{Cell{Type: "bert", Engine: "coreml"}, "does not run on cpu"},
		{Cell{Type: "bert", Size: "huge"}, "the sizes are"},
		{Cell{Type: "bert", Mode: "dream"}, "the modes are"},
		{Cell{Type: "bert", Batch: -1}, "batch -1 is out of range"},
		{Cell{Type: "bert", Platform: "CUDA", DType: "int8"}, "cuda does not run in int8"},
		{Cell{Type: "bert", Platform: "cpu", Target: "cuda:1"}, "contradicts"},
		{Cell{Type: "bert", Platform: "cuda:1", Device: "0"}, `platform "cuda:1" contradicts device "0"`},
		{Cell{Type: "bert", Platform: "cpu/onnxruntime", Engine: "torch"}, `platform "cpu/onnxruntime" contradicts engine "torch"`},
		{Cell{Type: "bert", Platform: "webgpu@firefox", Browser: "chrome"}, `platform "webgpu@firefox" contradicts browser "chrome"`},
		{Cell{Type: "bert", Platform: "cuda/onnxruntime", Target: "cuda"}, "target cuda contradicts platform cuda"},
		{Cell{Type: "bert", Platform: "tpu/onnxruntime"}, "the platforms are"},
		{Cell{Type: "bert", Platform: "cuda/coreml"}, "its engines are torch, onnxruntime"},
		{Cell{Type: "bert", Platform: "cuda/"}, "is not of the form"},
		{Cell{Type: "bert", Platform: "cpu@firefox"}, "does not run in a browser"},
		{Cell{Type: "bert", Target: "openvino", Special: Special{Scenario: "burst"}}, "it must be one of latency, throughput, moves, concurrent"},
		{Cell{Type: "llama", Target: "cpu/onnxruntime", Mode: "generate"}, "no mode generate"},
		{Cell{Type: "llama", Target: "openvino", Mode: Train}, "no mode train"},
		{Cell{Type: "llama", Tokens: 8}, "is for mode generate"},
		{Cell{Type: "llama", Mode: Generate, Tokens: -1}, "tokens -1 is out of range"},
		{Cell{Type: "llama", Target: "qnn", Mode: Generate, Tokens: 8}, "no other number"},
		{Cell{Type: "llama", Mode: Train, Special: Special{Cache: StaticCache}}, "is for mode generate"},
		{Cell{Type: "llama", Mode: Train, DType: "fp16"}, "cannot be trained"},
		{Cell{Type: "llama", Mode: Train, DType: "bf16", Special: Special{Mixed: "bf16"}}, "weights in fp32"},
		{Cell{Type: "bert", Target: "qnn", Special: Special{Scenario: "throughput"}}, "the engine qnn has no scenario"},
		{Cell{Type: "bert", Target: "webnn", Special: Special{Scenario: "concurrent"}}, "the engine ort-web has no scenario"},
		{Cell{Type: "bert", Mode: "train", Special: Special{Scenario: "throughput"}}, "no scenario throughput in mode train"},
		{Cell{Type: "bert", Special: Special{Scenario: "moves"}}, "a model is made on the cpu"},
		{Cell{Type: "bert", Target: "openvino", Special: Special{Scenario: "moves"}}, "the engine openvino has no scenario"},
		{Cell{Type: "bert", Target: "cuda", Mode: "train", Special: Special{Scenario: "moves"}}, "moves is of one model in mode infer"},
		{Cell{Type: "bert", Procs: 2}, "needs a way to share"},
		{Cell{Type: "bert", Mode: "train", Procs: 2, Batch: 3, Special: Special{Parallel: "ddp"}}, "cannot be shared evenly"},
		{Cell{Type: "bert", Procs: 2, Special: Special{Parallel: "ddp"}}, "not for mode infer"},
		{Cell{Type: "bert", Special: Special{Parallel: "tp"}}, "needs --procs"},
		{Cell{Type: "bert", Target: "openvino", Procs: 2}, "has one process"},
		{Cell{Type: "bert", Special: Special{Shapes: "dynamic"}}, "the engine torch has no shapes"},
		{Cell{Type: "bert", Target: "cpu/onnxruntime", Special: Special{Via: "torch"}}, "the engine onnxruntime has no via"},
		{Cell{Type: "bert", Target: "openvino", Special: Special{Via: "tflite"}}, "it must be one of onnx, torch"},
		{Cell{Type: "bert", Target: "openvino", Special: Special{Via: "transformers.js"}}, "the engine openvino has no via \"transformers.js\""},
		{Cell{Type: "bert", Target: "webgpu", Special: Special{Block: "48"}}, "it must be one of 32, 16, 64, 128"},
		{Cell{Type: "bert", Target: "openvino", Special: Special{Block: "64"}}, "the engine openvino has no block"},
		{Cell{Type: "bert", Target: "webnn", Special: Special{Via: "torch"}}, "the engine ort-web has no via \"torch\""},
	} {
		if err := tc.c.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.c, err, tc.want)
		}
	}
}

func TestSpellingsAreOne(t *testing.T) {
	t.Parallel()
	a, b := Cell{Type: "bert", Platform: "CUDA", DType: "float16"}.Normal(), Cell{Type: "bert", Target: "cuda", DType: "fp16"}.Normal()
	if a != b {
		t.Errorf("%+v and %+v differ", a, b)
	}
}

// A plan's platform takes a target as the command line does: it is the same
// cell, with the same hash, as with its parts in their fields.
func TestPlatformTakesATarget(t *testing.T) {
	t.Parallel()
	for whole, parts := range map[platform.Name]Cell{
		"cpu/onnxruntime":    {Platform: "cpu", Engine: "onnxruntime"},
		"CUDA/onnxruntime":   {Platform: "cuda", Engine: "onnxruntime"},
		"cuda:1":             {Platform: "cuda", Device: "1"},
		"cuda:0":             {Platform: "cuda"},
		"cuda:1/onnxruntime": {Target: "cuda:1/onnxruntime"},
		"webgpu@firefox":     {Platform: "webgpu", Browser: "firefox"},
		"cpu/wasm@chromium":  {Platform: "cpu", Engine: "wasm", Browser: "chromium"},
		"qnn:sm8650":         {Platform: "qnn", Device: "sm8650"},
	} {
		c := Cell{Type: "bert", Platform: whole}
		parts.Type = "bert"
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", whole, err)
		}
		if diff := cmp.Diff(parts.Normal(), c.Normal()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", whole, diff)
		}
	}
	beside := Cell{Type: "bert", Platform: "cuda/onnxruntime", Device: "1", Engine: "onnxruntime"}
	if got := beside.Normal().Target; beside.Validate() != nil || got != "cuda:1/onnxruntime" {
		t.Errorf("with a device beside it: %s, %v", got, beside.Validate())
	}
}

// A default that is written out is the same cell; another value is another
// cell, and is dropped where the engine does not have the setting.
func TestSettingsOfSomeEngines(t *testing.T) {
	t.Parallel()
	plain := Cell{Type: "bert", Target: "openvino"}.Normal()
	if c := (Cell{Type: "bert", Target: "openvino", Special: Special{Scenario: "latency", Shapes: "static"}}).Normal(); c != plain {
		t.Errorf("%+v and %+v differ", c, plain)
	}
	busy := Cell{Type: "bert", Target: "openvino", Special: Special{Scenario: "throughput", Shapes: "dynamic", Via: "torch"}}.Normal()
	if busy.Hash == plain.Hash || busy.Validate() != nil {
		t.Errorf("%+v: %v", busy, busy.Validate())
	}
	through := Cell{Type: "bert", Target: "webgpu", Special: Special{Via: "transformers.js"}}.Normal()
	if err := through.Validate(); err != nil {
		t.Error(err)
	}
	if inWasm := through.On(platform.Target{Platform: platform.CPU, Engine: platform.Wasm}); inWasm.Via != through.Via {
		t.Errorf("another platform of the browser lost the way: %+v", inWasm)
	}
	if there := through.On(platform.Target{Platform: platform.OpenVINO}); there.Via != "" {
		t.Errorf("OpenVINO goes through %q", there.Via)
	}
	moved := busy.On(platform.Target{Platform: platform.CPU})
	if want := (Cell{Type: "bert", Special: Special{Scenario: "throughput"}}).Normal(); moved != want {
		t.Errorf("on the CPU it is %+v, want %+v", moved, want)
	}
}

func TestReadPlan(t *testing.T) {
	t.Parallel()
	p, err := ReadPlan(strings.NewReader(`{"cells":[{"type":"bert"},{"type":"bert","batch":1},{"type":"noop","engine":"noop"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 2 || p.Timing != Functional {
		t.Errorf("got %d cells and timing %q, want 2 (the second repeats the first) and %q", len(p.Cells), p.Timing, Functional)
	}
	for in, want := range map[string]string{
		`{"cells":[]}`: "no cells",
		`{"cells":[{"type":"bert","colour":"red"}]}`:    `unknown field "colour"`,
		"{\n\"cells\":[{\"type\":\n7}]}":                "line 3",
		`{"cells":[{"type":"bert"}]} and more`:          "text after its end",
		`{"cells":[{"type":"bert"},{"type":"a/b"}]}`:    "cell 2",
		`{"cells":[{"type":"bert"}],"timing":"slowly"}`: "the timings are",
	} {
		if _, err := ReadPlan(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// A plan that an editor began with a byte order mark is a plan, and what is
// wrong with one is said without Go's own words.
func TestReadPlanForPeople(t *testing.T) {
	t.Parallel()
	if _, err := ReadPlan(strings.NewReader("\ufeff" + `{"cells":[{"type":"bert"}]}`)); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
	for in, want := range map[string]string{
		`[]`: "it is a list, and should be an object",
		`{"cells":[{"type":"bert","batch":"two"}]}`: `"cells.batch" is a text, and should be a whole number`,
		`{"cells":{}}`:              `"cells" is an object, and should be a list`,
		`{"cells":[{"type":7}]}`:    `"cells.type" is a number, and should be a text`,
		`{"strict":1,"cells":[]}`:   `"strict" is a number, and should be true or false`,
		`{"cells":[{"type":"bert"`:  "it ends too early",
		`{"cells":[{"batch":1.5}]}`: `"cells.batch" is the number 1.5, and should be a whole number`,
	} {
		_, err := ReadPlan(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		} else if strings.Contains(err.Error(), "json") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzReadPlan(f *testing.F) {
	f.Add(`{"cells":[{"type":"bert","batch":4}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ReadPlan(strings.NewReader(s))
		if err != nil {
			return
		}
		again, err := p.Normal()
		if err != nil || cmp.Diff(p, again) != "" {
			t.Fatalf("a plan that was read does not stay the same: %v\n%s", err, cmp.Diff(p, again))
		}
	})
}

func TestEvidenceStrength(t *testing.T) {
	t.Parallel()
	order := []Evidence{Measured, Emulated, Compiled, Derived, Predicted, None}
	for i := 1; i < len(order); i++ {
		if order[i-1].Strength() <= order[i].Strength() {
			t.Errorf("%s is not stronger than %s", order[i-1], order[i])
		}
	}
}
