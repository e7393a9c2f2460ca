package platform

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnginesOfPlatforms: the order is the users': the first is what a platform's
// bare name means.
func TestEnginesOfPlatforms(t *testing.T) {
	t.Parallel()
	want := map[Name][]Engine{
		CPU: {Torch, ONNXRuntime, Wasm, Noop}, CUDA: {Torch, ONNXRuntime}, ROCm: {Torch}, MPS: {Torch, CoreML},
		OpenVINO: {EngOpenVINO}, QNN: {EngQNN}, WebNN: {ORTWeb}, WebGPU: {ORTWeb},
	}
	got := map[Name][]Engine{}
	for _, p := range All() {
		got[p.Name] = p.Engines
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestTraits: each question that the program asks of engines, and of whom it is true.
func TestTraits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		is   func(Traits) bool
		want []Engine
	}{
		"graphs":     {func(t Traits) bool { return t.Graphs }, []Engine{ONNXRuntime, EngOpenVINO, EngQNN, CoreML, ORTWeb, Wasm}},
		"onnx":       {func(t Traits) bool { return t.ONNX }, []Engine{ONNXRuntime, EngOpenVINO, EngQNN, ORTWeb, Wasm}},
		"pages":      {func(t Traits) bool { return t.Pages }, []Engine{ORTWeb, Wasm}},
		"generates":  {func(t Traits) bool { return t.Generates }, []Engine{Torch, EngOpenVINO, EngQNN, ORTWeb, Wasm, Noop}},
		"throughput": {func(t Traits) bool { return t.Throughput }, []Engine{Torch, ONNXRuntime, EngOpenVINO}},
		"company":    {func(t Traits) bool { return t.Company }, []Engine{Torch, ONNXRuntime, EngOpenVINO, Noop}},
		"moves":      {func(t Traits) bool { return t.Moves }, []Engine{Torch}},
		"trains":     {func(t Traits) bool { return t.Trains }, []Engine{Torch}},
		"answers":    {func(t Traits) bool { return t.Answers }, []Engine{Torch}},
		"blocks":     {func(t Traits) bool { return t.Blocks }, []Engine{ORTWeb, Wasm}},
		"anywhere":   {func(t Traits) bool { return t.Anywhere }, []Engine{CoreML}},
	} {
		got := slices.DeleteFunc(Engines(), func(e Engine) bool { return !tc.is(e.Traits()) })
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if d := cmp.Diff(Traits{}, Engine("none").Traits()); d != "" {
		t.Errorf("an engine that nobody knows has traits: %s", d)
	}
}

// TestEngineRows: a row says all that the program asks of it.
func TestEngineRows(t *testing.T) {
	t.Parallel()
	for i, e := range Engines() {
		is := e.Traits()
		if len(is.On) == 0 || slices.Index(Engines(), e) != i {
			t.Errorf("%s runs nowhere, or has two rows", e)
		}
		for _, n := range is.On {
			target := Target{Platform: n, Engine: e}.Normal()
			if _, known := Get(n); !known {
				t.Errorf("%s runs on %s, which is not a platform", e, n)
			}
			if !target.First() && !is.Pages && e != Noop && len(is.Libraries) == 0 {
				t.Errorf("nobody can tell whether %s is there: it names no library", target)
			}
			if len(target.DTypes()) == 0 {
				t.Errorf("%s has no dtype", target)
			}
		}
		if is.Instead != "" && (slices.Contains(is.On, is.Instead.Traits().On[0]) || is.Instead.Traits().Pages != is.Pages) {
			t.Errorf("%s cannot stand for %s", is.Instead, e)
		}
		if is.ONNX && !is.Graphs {
			t.Errorf("%s takes ONNX files, and runs no graphs", e)
		}
		if is.Pages && !is.Graphs {
			t.Errorf("%s runs in pages, and they run graphs alone", e)
		}
		for _, d := range is.DTypes {
			if !slices.Contains(dtypes, d) {
				t.Errorf("%s has the dtype %s, which nobody knows", e, d)
			}
		}
	}
}

// TestLibrariesAreReported: the runner reports the version of every library that an
// engine names; one that it does not look for would seem not to be installed.
func TestLibrariesAreReported(t *testing.T) {
	t.Parallel()
	const file = "../../runtimes/python/assay_runner/process/libraries.py"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "\nDISTRIBUTIONS = (")
	listed, _, closed := strings.Cut(rest, "\n)")
	if !found || !closed {
		t.Fatalf("%s has no DISTRIBUTIONS", file)
	}
	for _, name := range Libraries() {
		if !strings.Contains(listed, `"`+name+`"`) {
			t.Errorf("%s is not in DISTRIBUTIONS of %s", name, file)
		}
	}
}

// TestOnProcessor: whose products are bounded by the instruction sets that are
// let to the processor.
func TestOnProcessor(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"cpu": true, "cpu/onnxruntime": false, "cpu/wasm": false, "cpu/noop": false, "cuda": false, "cuda:1": false, "mps": false,
		"openvino": true, "openvino:GPU": false, "openvino:AUTO": false, "qnn": false, "webgpu": false,
	} {
		at, err := SplitTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		if at.OnProcessor() != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
}

// TestGraphEngine: who runs a user's own graph on each platform.
func TestGraphEngine(t *testing.T) {
	t.Parallel()
	want := map[Name]Engine{CPU: ONNXRuntime, CUDA: ONNXRuntime, ROCm: "", MPS: "", OpenVINO: EngOpenVINO, QNN: EngQNN, WebNN: "", WebGPU: ""}
	got := map[Name]Engine{}
	for _, p := range All() {
		got[p.Name] = p.GraphEngine()
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
