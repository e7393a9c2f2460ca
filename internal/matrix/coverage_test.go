package matrix

import (
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestCoverages: shares are of the models that ran there and run on the CPU, the
// newest result counts, what the machine broke counts nothing, and what was not
// run, or is right only for some inputs, is not whole.
func TestCoverages(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	seen := func(model, target string, v cell.Verdict, class cell.FailureClass, left int, age time.Duration) Observation {
		c := cell.Cell{Type: model, Target: target}.Normal()
		x := Observation{Result: cell.Result{Cell: c, Verdict: v, Evidence: cell.Measured, StartedAt: at.Add(-age)}}
		if class != "" {
			x.Failure = &cell.Failure{Class: class}
		}
		if left > 0 {
			x.Placement = &cell.Placement{LeftOver: []cell.LeftOver{{Operator: "Loop", Count: left, Where: "cpu"}}}
		}
		return x
	}
	exported := func(x Observation, e cell.Exported) Observation {
		x.Export, x.Numerics = &e, &cell.Numerics{Pass: true}
		return x
	}
	step := func(name string) cell.Exported { return cell.Exported{Steps: []cell.ExportStep{{Name: name}}} }
	from := func(e cell.Evidence, x Observation) Observation {
		x.Evidence = e
		return x
	}
	wrong := cell.Exported{Way: "onnx, FUSE=NO", Earlier: []cell.ExportTry{{Way: "onnx", Error: "its numbers are wrong by 0.5"}}}
	strayed := seen("a", "cuda", cell.Partial, "", 0, 0) // as torch tells it
	strayed.Placement = &cell.Placement{Device: "cuda:0", Nodes: map[string]int{"cuda:0": 9, "cpu": 2}}
	got := Coverages([]Observation{
		seen("a", "cpu", cell.Works, "", 0, 0),
		seen("b", "cpu", cell.Works, "", 0, 0),
		seen("c", "cpu", cell.Fails, cell.ModelError, 0, 0),
		seen("a", "qnn", cell.Fails, cell.Export, 0, time.Hour), // an older one
		seen("a", "qnn", cell.Works, "", 0, 0),
		seen("b", "qnn", cell.Partial, "", 3, 0),
		seen("c", "qnn", cell.Fails, cell.Export, 0, 0),
		seen("d", "qnn", cell.Fails, cell.Environment, 0, 0),
		seen("e", "qnn", cell.Unavailable, "", 0, 0),
		strayed,
		exported(seen("a", "openvino", cell.Works, "", 0, 0), wrong),
		exported(seen("b", "openvino", cell.Partial, "", 0, 0), step(cell.ConstantInputs)),
		exported(seen("e", "openvino", cell.Partial, "", 2, 0), step(cell.FixedChoices)),
		seen("f", "openvino", cell.Partial, "", 0, 0),
		from(cell.Derived, seen("a", "rocm", cell.Works, "", 0, 0)),
		from(cell.Compiled, seen("b", "rocm", cell.Partial, "", 0, 0)),
		from(cell.Derived, seen("c", "rocm", cell.Fails, cell.UnsupportedOperator, 0, 0)),
	})
	half, one := 0.5, 1.0
	want := []Coverage{
		{Target: "cpu", DType: platform.FP32, Size: cell.Tiny, Models: 3, Base: 2, Whole: 2, WholeShare: &one, RunShare: &one,
			Fails: map[cell.FailureClass]int{cell.ModelError: 1}, Evidence: map[cell.Evidence]int{cell.Measured: 3}},
		{Target: "cuda", DType: platform.FP32, Size: cell.Tiny, Models: 1, Base: 1, WithLeftOvers: 1, WholeShare: new(0.0), RunShare: &one,
			Fails: map[cell.FailureClass]int{}, Evidence: map[cell.Evidence]int{cell.Measured: 1}},
		{Target: "rocm", DType: platform.FP32, Size: cell.Tiny, Models: 3, ShouldWork: 2,
			Fails: map[cell.FailureClass]int{cell.UnsupportedOperator: 1}, Evidence: map[cell.Evidence]int{cell.Derived: 2, cell.Compiled: 1}},
		{Target: "openvino", DType: platform.FP32, Size: cell.Tiny, Models: 4, Base: 2, Whole: 1, Limited: 2, OtherPartial: 1, OtherSetting: 1,
			WholeShare: &half, RunShare: &one, Fails: map[cell.FailureClass]int{}, Evidence: map[cell.Evidence]int{cell.Measured: 4}},
		{Target: "qnn", DType: platform.FP16, Size: cell.Tiny, Models: 3, Base: 2, Whole: 1, WithLeftOvers: 1, WholeShare: &half, RunShare: &one,
			Fails: map[cell.FailureClass]int{cell.Export: 1}, Evidence: map[cell.Evidence]int{cell.Measured: 3}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
}
