//go:build integration

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
)

// onFaulty is a program with torch on a processor that announces AMX and on which
// products in bf16 end the process, unless oneDNN is kept from it.
func onFaulty(t *testing.T) *program {
	t.Helper()
	p, _ := withTorch(t)
	p.on(t, announcesAMX)
	shim, err := filepath.Abs("testdata/python/faulty")
	if err != nil {
		t.Fatal(err)
	}
	p.vars["PYTHONPATH"] = shim
	return p
}

const amxIsOff = "AMX is off: this processor announces it and cannot execute it"

// checkLowered wants a result that works and says with what.
func checkLowered(t *testing.T, r cell.Report, again bool) {
	t.Helper()
	for _, res := range r.Results {
		checkWorks(t, res)
		if !strings.Contains(res.Note, amxIsOff) || strings.Contains(res.Note, "tried again") != again {
			t.Errorf("%s: the note is %q", res.Cell.Model(), res.Note)
		}
		if got := res.Context.Variables["ONEDNN_MAX_CPU_ISA"]; got != "AVX512_CORE_FP16" {
			t.Errorf("%s ran with %q: %v", res.Cell.Model(), got, res.Context.Variables)
		}
	}
	if len(r.Results) != 1 {
		t.Errorf("%d results, want 1", len(r.Results))
	}
}

// TestIntegrationFaultyProcessor: bf16 is tried before anything runs, works with
// fewer instructions, and results, doctor and detect say so.
func TestIntegrationFaultyProcessor(t *testing.T) {
	t.Parallel()
	p := onFaulty(t)
	checkLowered(t, p.report(t, exitOK, "test", "bert", "--dtype", "bf16", "--platform", "cpu"), false)
	out, _, _ := p.run(t, "doctor", "cpu")
	for _, want := range []string{"torch bf16 died of SIGILL", amxIsOff, "ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16", "leaf 0x1c"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q: %s", want, out)
		}
	}
	if out, _, _ := p.run(t, "detect", "--platform", "cpu"); !strings.Contains(strings.Join(strings.Fields(out), " "), "torch bf16 died of SIGILL") {
		t.Errorf("detect does not say what died: %s", out)
	}
}

// TestIntegrationFaultyLate: what no trial noticed costs one child, once for the host.
func TestIntegrationFaultyLate(t *testing.T) {
	t.Parallel()
	p := onFaulty(t)
	p.vars["ASSAY_TEST_FAULTY"] = "late"
	checkLowered(t, p.report(t, exitOK, "test", "bert", "--dtype", "bf16", "--platform", "cpu"), true)
	checkLowered(t, p.report(t, exitOK, "test", "vit", "--dtype", "bf16", "--platform", "cpu"), false)
}

// TestIntegrationFaultyStays: where nothing lower is to be had the death is told
// with what helps.
func TestIntegrationFaultyStays(t *testing.T) {
	t.Parallel()
	p := onFaulty(t)
	p.on(t, "sse4_2 avx2")
	r := p.report(t, exitFails, "test", "bert", "--dtype", "bf16", "--platform", "cpu")
	if len(r.Results) != 1 || r.Results[0].Failure == nil {
		t.Fatalf("%+v", r.Results)
	}
	f := r.Results[0].Failure
	if f.Class != cell.Crash || !strings.Contains(f.Detail, "SIGILL") || !strings.Contains(f.Hint, "ONEDNN_MAX_CPU_ISA") {
		t.Errorf("%+v", f)
	}
}
