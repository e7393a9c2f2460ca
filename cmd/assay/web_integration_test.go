//go:build integration

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
)

// webEnvironment is the folder of the user's web environment, which `make
// setup-web` made.
var webEnvironment = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("assay", "setup", "web", "--no-setup", "--json").Output()
	if err != nil {
		return "", err
	}
	var env struct{ Dir string }
	err = json.Unmarshal(out, &env)
	return env.Dir, err
})

// withWeb is a program with torch that finds the web environment in its own
// folders, and no browser but the one in it.
func withWeb(t *testing.T) *program {
	t.Helper()
	p, _ := withTorch(t)
	linkWeb(t, p)
	return p
}

// linkWeb puts the user's web environment where the program looks for it.
func linkWeb(t *testing.T, p *program) {
	t.Helper()
	dir, err := webEnvironment()
	if err != nil {
		t.Fatalf("there is no web environment (make setup-web): %v", err)
	}
	in := filepath.Join(p.vars["ASSAY_HOME"], "data", "environments")
	if err := os.MkdirAll(in, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(in, filepath.Base(dir))); err != nil {
		t.Fatal(err)
	}
}

// TestIntegrationWeb: models run in a page of a real browser, on each of its
// platforms, and are timed there by a browser of their own.
func TestIntegrationWeb(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	plan := p.write(t, "plan.json", cell.Plan{Cells: []cell.Cell{
		{Type: "bert", Target: "webnn"}, {Type: "bert", Target: "webgpu"}, {Type: "bert", Target: "cpu/wasm"},
		{Type: "bert", Target: "cpu/wasm", DType: "w8"}, {Type: "bert", Target: "cpu/wasm", DType: "w4"},
	}})
	quantised := 0
	results := p.report(t, exitOK, "test", "--plan", plan).Results
	for _, r := range results {
		if r.Cell.DType == platform.FP32 {
			ranInPage(t, r)
			continue
		}
		computesWhatWasQuantised(t, r)
		quantised++
	}
	if len(results) != 5 || quantised != 2 {
		t.Errorf("%d results, %d of them quantised", len(results), quantised)
	}
	timed := p.report(t, exitOK, "bench", "bert", "--quick", "--repeats", "1", "--platform", "webnn").Results[0]
	if ranInPage(t, timed) && (timed.Latency == nil || timed.Latency.MedianMS <= 0 || timed.PhasesMS["create"] <= 0 || timed.PhasesMS["first"] <= 0) {
		t.Errorf("%+v, phases %v", timed.Latency, timed.PhasesMS)
	}
	if timed.Memory == nil || timed.Memory.HostPeakBytes == nil || *timed.Memory.HostPeakBytes < 50<<20 {
		t.Errorf("the browser's own memory is unknown: %+v", timed.Memory)
	}
}

// TestIntegrationWebGPUTime: a timed cell has the GPU's own time beside the
// page's, taken of every compute pass, and says what the device was opened with.
func TestIntegrationWebGPUTime(t *testing.T) {
	t.Parallel()
	r := withWeb(t).report(t, exitOK, "bench", "bert", "--quick", "--repeats", "1", "--platform", "webgpu").Results[0]
	if !ranInPage(t, r) || r.Latency == nil {
		t.Fatalf("it was not timed: %+v", r.Failure)
	}
	b := r.Context.Browser
	if b.F16 == nil || *b.F16 || !slices.Contains(b.DeviceFeatures, "subgroups") {
		t.Errorf("what the session computes with: f16 %v, %v", b.F16, b.DeviceFeatures)
	}
	switch l, clock := r.Latency, b.GPUClock; {
	case clock == nil || clock.Why != "" || clock.Passes == nil || *clock.Passes < 1 || clock.StepMS == nil:
		t.Errorf("the GPU's clock was not read: %+v", clock)
	case l.DeviceMS == nil || *l.DeviceMS <= 0 || *l.DeviceMS > 3*l.MaxMS:
		t.Errorf("the GPU took %v of %v ms", l.DeviceMS, l.MaxMS)
	case len(l.DeviceSamples) != 1 || len(l.DeviceSamples[0]) < 3:
		t.Errorf("its samples: %v", l.DeviceSamples)
	}
}

// ranInPage wants a result whose nodes were all seen on the asked platform, in
// a browser that is told.
func ranInPage(t *testing.T, r cell.Result) bool {
	t.Helper()
	software := r.Context.Browser != nil && r.Context.Browser.Adapter != nil && r.Context.Browser.Adapter.Fallback
	switch {
	case r.Verdict != cell.Works || (r.Evidence == cell.Emulated) != software:
		t.Errorf("%s: %s, %s: %s %+v", r.Cell.Target, r.Verdict, r.Evidence, r.Note, r.Failure)
	case r.Numerics == nil || !r.Numerics.Pass || r.Numerics.Control == nil || !r.Numerics.Control.Pass:
		t.Errorf("%s: its output was not checked: %+v", r.Cell.Target, r.Numerics)
	case r.Placement == nil || r.Placement.Nodes[string(r.Cell.Platform)] == 0 || len(r.Placement.LeftOver) > 0:
		t.Errorf("%s: it was not seen to run there whole: %+v", r.Cell.Target, r.Placement)
	case r.Context.Browser == nil || r.Context.Browser.Version == "" || r.Context.Versions["onnxruntime-web"] == "":
		t.Errorf("%s: the browser is not told: %+v", r.Cell.Target, r.Context)
	default:
		return true
	}
	return false
}

// TestIntegrationWebGenerates: a language model continues its prompt in a page,
// token by token as torch does, its past kept by the browser; with weights of
// eight bits too.
func TestIntegrationWebGenerates(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	for _, r := range p.report(t, exitOK, "test", "llama", "--mode", "generate", "--platform", "webnn", "--dtype", "fp32,w8").Results {
		if !ranInPage(t, r) {
			continue
		}
		if g := r.Generation; g == nil || g.TTFT == nil || g.Between == nil || g.Between.Median <= 0 {
			t.Errorf("%s: tokens were not timed: %+v", r.Cell.DType, g)
		} else if r.Cell.DType == platform.FP32 && (g.AgreedTokens == nil || *g.AgreedTokens != g.NewTokens) {
			t.Errorf("tokens differ from torch's: %+v", g)
		}
		if r.Context.EngineSettings["past_kept_at"] != "ml-tensor" {
			t.Errorf("%s: the past was not kept by WebNN: %v", r.Cell.DType, r.Context.EngineSettings)
		}
	}
}

// TestIntegrationWebTranslates: a model with an encoder makes its text in a
// page, what steps read of the encoder kept by the browser as the past is.
func TestIntegrationWebTranslates(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	kept := map[platform.Name]string{platform.WebNN: "ml-tensor", platform.CPU: "cpu"}
	for _, r := range p.report(t, exitOK, "test", "t5", "--mode", "generate", "--platform", "webnn,cpu/wasm").Results {
		if !ranInPage(t, r) {
			continue
		}
		if g := r.Generation; g == nil || g.AgreedTokens == nil || *g.AgreedTokens != g.NewTokens || g.Between.Median <= 0 {
			t.Errorf("%s: tokens differ from torch's, or not timed: %+v", r.Cell.Target, g)
		}
		if r.Context.EngineSettings["past_kept_at"] != kept[r.Cell.Platform] {
			t.Errorf("%s: the past was kept elsewhere: %v", r.Cell.Target, r.Context.EngineSettings)
		}
	}
	through := p.report(t, exitOK, "test", "t5", "--mode", "generate", "--via", "transformers.js", "--platform", "cpu/wasm").Results[0]
	if ranInPage(t, through) && (through.Context.EngineSettings["pipeline"] != "text2text-generation" || len(through.Numerics.Around) != 3) {
		t.Errorf("through transformers.js: %v, %+v", through.Context.EngineSettings, through.Numerics.Around)
	}
}

// TestIntegrationTransformersJS: the same models go through the library that
// web applications use, and give the same numbers.
func TestIntegrationTransformersJS(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	pipelines := map[string]string{"bert": "feature-extraction", "vit": "image-classification"}
	for _, r := range p.report(t, exitOK, "test", "bert", "vit", "--via", "transformers.js", "--platform", "webnn").Results {
		if ranInPage(t, r) && (r.Context.EngineSettings["pipeline"] != pipelines[r.Cell.Type] || r.Context.Versions["transformers.js"] == "") {
			t.Errorf("%s: %v by %v", r.Cell.Type, r.Context.EngineSettings, r.Context.Versions)
		}
		if r.Numerics != nil && len(r.Numerics.Around) < 2 {
			t.Errorf("%s: what the pipeline makes around its model was not compared: %+v", r.Cell.Type, r.Numerics.Around)
		}
	}
}

// TestIntegrationWebAbsent: what no browser has is unavailable, with its reason.
func TestIntegrationWebAbsent(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	results := p.report(t, exitUnavailable, "test", "bert", "--strict", "--platform", "webgpu@safari,webnn:npu,webnn@firefox").Results
	for _, r := range results {
		if r.Verdict != cell.Unavailable || r.Note == "" {
			t.Errorf("%s: %s, %q", r.Cell.Target, r.Verdict, r.Note)
		}
	}
	if len(results) != 3 {
		t.Errorf("%d results, want 3", len(results))
	}
}
