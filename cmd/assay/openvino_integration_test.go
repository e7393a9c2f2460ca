//go:build integration

package main

import (
	"testing"

	"assay/internal/cell"
)

// TestIntegrationOpenVINO: models go to OpenVINO's CPU by export, are measured
// there, and are found in the cache the second time; each way, dtype and
// scenario is a cell of its own.
func TestIntegrationOpenVINO(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	ownCache(t, p, "exports")
	for i := range 2 {
		results := p.report(t, exitOK, "test", "bert", "vit", "--platform", "openvino").Results
		if len(results) != 2 {
			t.Fatalf("%d results, want 2", len(results))
		}
		for _, r := range results {
			if ranThere(t, r) && r.Export.Found != (i == 1) {
				t.Errorf("%s, time %d: found in the cache: %v", r.Cell.Type, i+1, r.Export.Found)
			}
		}
	}
	direct := p.report(t, exitOK, "test", "bert", "--platform", "openvino:AUTO", "--via", "torch").Results[0]
	if ranThere(t, direct) && direct.Export.Via != "torch" {
		t.Errorf("it came by way of %q", direct.Export.Via)
	}
	rough := p.report(t, exitOK, "test", "bert", "--platform", "openvino", "--dtype", "int8").Results[0]
	if ranThere(t, rough) && (rough.Numerics.SNRdB == nil || *rough.Numerics.SNRdB < 20 || rough.Context.Precisions["i8"] == 0) {
		t.Errorf("int8: %+v, computed in %v", rough.Numerics, rough.Context.Precisions)
	}
	computesWhatWasQuantised(t, rough)
	busy := p.report(t, exitOK, "bench", "bert", "--quick", "--repeats", "1", "--platform", "openvino", "--scenario", "throughput").Results[0]
	if ranThere(t, busy) && (busy.Cell.Scenario != cell.ForThroughput || busy.Latency == nil || busy.Throughput.Value <= 0) {
		t.Errorf("throughput: %+v, %+v", busy.Cell, busy.Throughput)
	}
}

// computesWhatWasQuantised wants the engine compared with the same quantised
// model in floating point, and found right.
func computesWhatWasQuantised(t *testing.T, r cell.Result) {
	t.Helper()
	if n := r.Numerics; n == nil || n.Quantised == nil || n.Quantised.Pass == nil || !*n.Quantised.Pass || n.Quantised.LossSNRdB == nil {
		t.Errorf("%s in %s, against what was quantised: %+v", r.Cell.Target, r.Cell.DType, n)
	}
}

// ranThere wants a result that was measured on OpenVINO's CPU, checked and
// counted, and reports whether it was.
func ranThere(t *testing.T, r cell.Result) bool {
	t.Helper()
	switch {
	case r.Verdict != cell.Works || r.Evidence != cell.Measured || r.Export == nil:
		t.Errorf("%s: %s, %s: %s %+v", r.Cell.Target, r.Verdict, r.Evidence, r.Note, r.Failure)
	case r.Numerics == nil || !r.Numerics.Pass || r.Numerics.Control == nil || !r.Numerics.Control.Pass:
		t.Errorf("%s: its output was not checked: %+v", r.Cell.Target, r.Numerics)
	case r.Placement == nil || r.Placement.Nodes["CPU"] == 0 || len(r.Placement.Counters) == 0:
		t.Errorf("%s: it was not seen to run there: %+v", r.Cell.Target, r.Placement)
	default:
		return true
	}
	return false
}
