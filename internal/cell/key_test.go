package cell

import (
	"reflect"
	"slices"
	"testing"

	"assay/internal/platform"
)

// everySpecial has every special setting at its last value, which is not the default.
func everySpecial() Special {
	var s Special
	for _, x := range special {
		*x.Of(&s) = x.Values[len(x.Values)-1]
	}
	return s
}

// whole is a cell in which every field that can be has a value other than the default.
func whole() Cell {
	return Cell{
		Type: "bert", Checkpoint: "owner/name", Revision: "v1", Task: "fill-mask", Platform: platform.OpenVINO, Device: "GPU", Engine: platform.EngOpenVINO,
		Browser: "chrome", Size: Full, Weights: Hub, DType: platform.FP16, Batch: 2, Seq: 3, Image: 4, Threads: 5, Seed: 6,
		Mode: Generate, Tokens: 7, Procs: 8, Company: "bert, vit", Special: everySpecial(),
	}
}

// derived are the fields that follow from others.
var derived = []string{"Class", "Family", "Target", "Hash"}

// TestKeyTellsEveryFieldApart: also a field that nobody has thought of yet.
func TestKeyTellsEveryFieldApart(t *testing.T) {
	t.Parallel()
	v := reflect.ValueOf(whole())
	for _, field := range reflect.VisibleFields(v.Type()) {
		name := field.Name
		if field.Anonymous || slices.Contains(derived, name) {
			continue
		}
		if v.FieldByIndex(field.Index).IsZero() {
			t.Errorf("this test gives %s no value", name)
		}
		other := whole()
		f := reflect.ValueOf(&other).Elem().FieldByIndex(field.Index)
		if f.Kind() == reflect.Int {
			f.SetInt(f.Int() + 1)
		} else {
			f.SetString(f.String() + "x")
		}
		if whole().Key() == other.Key() {
			t.Errorf("cells of different %s are the same", name)
		}
	}
}

func TestKeyIgnoresWhatIsNamed(t *testing.T) {
	t.Parallel()
	plain := Cell{Type: "bert"}
	for _, tt := range []struct {
		name     string
		other    Cell
		ignoring []Any
		same     bool
	}{
		{"defaults are the same as nothing", Cell{Type: "bert", Target: "cpu", Size: Tiny, DType: "float32", Batch: 1, Class: "X", Family: "y"}, nil, true},
		{"engines", Cell{Type: "bert", Target: "cpu/wasm"}, []Any{AnyDevice}, false},
		{"a target", Cell{Type: "bert", Target: "cuda:1"}, []Any{AnyTarget}, true},
		{"a platform, not its engine", Cell{Type: "bert", Target: "openvino"}, []Any{AnyPlatform}, false},
		{"a tiny checkpoint", Cell{Type: "bert", Checkpoint: "a"}, []Any{AnyCheckpointIfTiny}, true},
		{"a full one", Cell{Type: "bert", Checkpoint: "a", Size: Full}, []Any{AnyCheckpointIfTiny}, false},
		{"batch and input", Cell{Type: "bert", Batch: 8, Seq: 32}, []Any{AnyBatch, AnyInput}, true},
		{"batch alone", Cell{Type: "bert", Batch: 8, Seq: 32}, []Any{AnyBatch}, false},
		{"mode", Cell{Type: "bert", Mode: Generate}, []Any{AnySpecial}, false},
		{"via", Cell{Type: "bert", Special: Special{Via: "torch"}}, []Any{AnySpecial}, true},
	} {
		if got := plain.Key(tt.ignoring...) == tt.other.Key(tt.ignoring...); got != tt.same {
			t.Errorf("%s: same is %v", tt.name, got)
		}
	}
}
