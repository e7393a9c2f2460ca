//go:build integration

package main

import (
	"encoding/json"
	"testing"

	"assay/internal/cell"
	"assay/internal/tune"
)

// TestIntegrationFrontEnd: models run whole in a page, from raw sound, by a
// script and by kernels of our own; the numbers are those of transformers'
// feature extractors and torch.
func TestIntegrationFrontEnd(t *testing.T) {
	t.Parallel()
	by := map[string]string{
		"whisper webnn":   "log-mel by script",
		"whisper webgpu":  "log-mel by kernels, workgroups of stft 64, mel 64",
		"wav2vec2 webnn":  "normalise by script",
		"wav2vec2 webgpu": "normalise by script",
	}
	p := withWeb(t)
	results := p.report(t, exitOK, "test", "whisper", "wav2vec2", "--platform", "webnn,webgpu", "--front-end", "page").Results
	for _, r := range results {
		want := by[r.Cell.Type+" "+r.Cell.Target]
		if ranInPage(t, r) && (r.Cell.FrontEnd != cell.InPage || r.Context.EngineSettings["front_end"] != want) {
			t.Errorf("%s: %+v, %v", r.Cell.Target, r.Cell, r.Context.EngineSettings)
		}
	}
	if len(results) != len(by) {
		t.Errorf("%d results, want %d", len(results), len(by))
	}
}

// TestIntegrationWarm: a warm cell's blank run is a phase of its own.
func TestIntegrationWarm(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	r := p.report(t, exitOK, "bench", "bert", "--quick", "--repeats", "1", "--platform", "webnn", "--warm").Results[0]
	if ranInPage(t, r) && (r.Cell.Start != cell.WarmStart || r.PhasesMS["warm"] <= 0 || r.PhasesMS["first"] <= 0) {
		t.Errorf("%+v, phases %v", r.Cell, r.PhasesMS)
	}
}

// TestIntegrationParallelLoad: a model's parts are loaded both ways, and a
// single repeat claims nothing.
func TestIntegrationParallelLoad(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	var report tune.Report
	out := p.ok(t, "tune", "--web", "--parallel-load", "clip", "--platform", "webnn", "--repeats", "1", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Schema != tune.Schema || len(report.Rows) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	r := report.Rows[0]
	if r.What != tune.ParallelLoad || r.Subject != "clip" || r.Evidence != cell.Measured || r.A.MedianMS == nil || r.B.MedianMS == nil || *r.A.MedianMS <= 0 || *r.B.MedianMS <= 0 || r.Lo != nil || r.Chosen != "" {
		t.Errorf("%+v", r)
	}
}
