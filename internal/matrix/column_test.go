package matrix

import (
	"slices"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
)

// What runs in a browser's processor is not torch on the CPU.
func TestWasmIsAColumnOfItsOwn(t *testing.T) {
	t.Parallel()
	torch, page := observe("bert", "cpu", took(4)), observe("bert", "cpu/wasm@firefox", failing(cell.Export), later(3))
	if m := Fold([]Observation{torch}, Options{}); !slices.Equal(m.Platforms, platform.Names()) {
		t.Errorf("the columns are %v", m.Platforms)
	}
	if s := square(t, platform.CPU, torch, page); s.Verdict != cell.Works || s.Target != "cpu" || s.Conditions != "" || s.Disagreement != nil {
		t.Errorf("the CPU: %+v", s)
	}
	if s := square(t, Wasm, torch, page); s.Verdict != cell.Fails || s.Target != "cpu/wasm@firefox" || s.Latency != nil {
		t.Errorf("wasm: %+v", s)
	}
	if s := square(t, Wasm, page, observe("bert", "cuda")); s.Platform != Wasm || Title(Wasm) == "" {
		t.Errorf("wasm: %+v, %q", s, Title(Wasm))
	}
}

// Engines of one platform are told apart, and its own speaks first.
func TestEnginesOfOnePlatform(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		torch, other Observation
		target, cond string
		verdict      cell.Verdict
		median       float64
	}{
		{"both work", observe("bert", "cpu", took(4)), observe("bert", "cpu/onnxruntime", took(2), later(9)), "cpu", "", cell.Works, 4},
		{"the platform's own fails", observe("bert", "cpu", failing(cell.ModelError)), observe("bert", "cpu/onnxruntime", took(2)), "cpu/onnxruntime", "onnxruntime only", cell.Works, 2},
		{"the other fails", observe("bert", "cpu", took(4)), observe("bert", "cpu/onnxruntime", failing(cell.Export), later(9)), "cpu", "torch only", cell.Works, 4},
	} {
		s := square(t, platform.CPU, tc.torch, tc.other)
		if s.Target != tc.target || s.Conditions != tc.cond || s.Verdict != tc.verdict || s.Latency == nil || s.Latency.MedianMS != tc.median {
			t.Errorf("%s: %s %s (%s), latency %+v", tc.name, s.Target, s.Verdict, s.Conditions, s.Latency)
		}
		if len(s.Disagreement) != 0 {
			t.Errorf("%s: %v disagrees", tc.name, s.Disagreement)
		}
	}
}

// A cell that asked for what its model cannot have says nothing about the model.
func TestWhatDoesNotSuitIsNotFolded(t *testing.T) {
	t.Parallel()
	odd := observe("bert", "cpu", failing(cell.Unsuited), verdict(cell.Unavailable), known(cell.None))
	if s := square(t, platform.CPU, odd, observe("bert", "cuda")); s.Verdict != NotRun {
		t.Errorf("%+v", s)
	}
}
