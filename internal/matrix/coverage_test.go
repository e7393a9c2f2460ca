package matrix

import (
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestCoverages: shares are of the models that run on the CPU, the newest
// result counts, and what the machine broke counts nothing.
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
	})
	half, one := 0.5, 1.0
	want := []Coverage{
		{Target: "cpu", DType: platform.FP32, Size: cell.Tiny, Models: 3, Base: 2, Whole: 2, WholeShare: &one, RunShare: &one,
			Fails: map[cell.FailureClass]int{cell.ModelError: 1}, Evidence: map[cell.Evidence]int{cell.Measured: 3}},
		{Target: "qnn", DType: platform.FP16, Size: cell.Tiny, Models: 3, Base: 2, Whole: 1, WithLeftOvers: 1, WholeShare: &half, RunShare: &one,
			Fails: map[cell.FailureClass]int{cell.Export: 1}, Evidence: map[cell.Evidence]int{cell.Measured: 3}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
}
