package platform

import (
	"slices"
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
		"pages":      {func(t Traits) bool { return t.Pages }, []Engine{ORTWeb, Wasm}},
		"generates":  {func(t Traits) bool { return t.Generates }, []Engine{Torch, EngOpenVINO, EngQNN, ORTWeb, Wasm, Noop}},
		"throughput": {func(t Traits) bool { return t.Throughput }, []Engine{EngOpenVINO}},
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
