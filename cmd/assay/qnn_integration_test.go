//go:build integration

package main

import (
	"runtime"
	"strings"
	"testing"

	"assay/internal/cell"
)

// TestIntegrationQNN: models run whole in Qualcomm's emulator, the evidence
// says so, and what was compiled is found the second time; a text is continued
// by the tokens that torch chooses; a system that does not exist is told from
// those that do.
func TestIntegrationQNN(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("Qualcomm's emulator is for Linux on x86-64")
	}
	p, _ := withTorch(t)
	ownCache(t, p, "exports")
	for i := range 2 {
		for _, r := range p.report(t, exitOK, "test", "bert", "vit", "--platform", "qnn").Results {
			if emulatedWhole(t, r) && r.Export.Found != (i == 1) {
				t.Errorf("%s, time %d: found in the cache: %v", r.Cell.Type, i+1, r.Export.Found)
			}
		}
	}
	rough := p.report(t, exitOK, "test", "bert", "--platform", "qnn:sm8550", "--dtype", "int8").Results[0]
	if emulatedWhole(t, rough) && (rough.Numerics.SNRdB == nil || *rough.Numerics.SNRdB < 20) {
		t.Errorf("int8: %+v", rough.Numerics)
	}
	computesWhatWasQuantised(t, rough)
	said := p.report(t, exitOK, "test", "llama", "--platform", "qnn", "--mode", "generate").Results[0]
	if emulatedWhole(t, said) && (said.Generation == nil || said.Generation.AgreedTokens == nil || *said.Generation.AgreedTokens != said.Generation.NewTokens) {
		t.Errorf("the text is not continued as torch does: %+v", said.Generation)
	}
	strange := p.report(t, exitOK, "test", "bert", "--platform", "qnn:sm8350").Results[0]
	if strange.Verdict != cell.Unavailable || strange.Fallback == nil || !strings.Contains(strange.Fallback.Reason, "sm8650") {
		t.Errorf("a system that the emulator does not do: %s, %+v", strange.Verdict, strange.Fallback)
	}
}

// emulatedWhole wants a checked result of the emulator with nothing left over,
// and reports whether it is one.
func emulatedWhole(t *testing.T, r cell.Result) bool {
	t.Helper()
	switch {
	case r.Verdict != cell.Works || r.Evidence != cell.Emulated || r.Export == nil:
		t.Errorf("%s: %s, %s: %s %+v", r.Cell.Target, r.Verdict, r.Evidence, r.Note, r.Failure)
	case r.Numerics == nil || !r.Numerics.Pass || r.Numerics.Control == nil || !r.Numerics.Control.Pass:
		t.Errorf("%s: its output was not checked: %+v", r.Cell.Target, r.Numerics)
	case r.Placement == nil || len(r.Placement.Nodes) != 1 || len(r.Placement.LeftOver) > 0:
		t.Errorf("%s: it did not run whole: %+v", r.Cell.Target, r.Placement)
	default:
		return true
	}
	return false
}

// TestIntegrationCoreML: a model is converted, which is all that a system
// other than macOS can do, and the evidence says so.
func TestIntegrationCoreML(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("coremltools converts without running on Linux")
	}
	p, _ := withTorch(t)
	r := p.report(t, exitOK, "test", "bert", "--platform", "mps/coreml").Results[0]
	if r.Verdict != cell.Works || r.Evidence != cell.Compiled || r.Cell.DType != "fp16" {
		t.Errorf("%s, %s in %s: %+v", r.Verdict, r.Evidence, r.Cell.DType, r.Failure)
	}
	if r.Placement == nil || r.Placement.Nodes["coreml"] == 0 {
		t.Errorf("nothing was converted: %+v", r.Placement)
	}
}
