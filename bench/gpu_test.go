package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/platform"
)

func onGPU(modelType, size string, ms, events float64) cell.Result {
	c := cell.Cell{Type: modelType, Size: size, Platform: platform.CUDA}.Normal()
	r := cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Thorough}
	r.Latency = &cell.Latency{Repeats: 1, N: 2, MedianMS: ms, SamplesMS: [][]float64{{ms, ms}}}
	if events > 0 {
		r.Latency.DeviceMS = &events
		r.Latency.DeviceSamples = [][]float64{{events}} // the pool may be shorter than the loop
	}
	return r
}

func TestGPUTableFromAWorkersJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.jsonl")
	started := time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC)
	j, err := journal.CreateFile(path, journal.Header{
		Schema: journal.Schema, Run: cell.Run{ID: journal.NewRunID(started), StartedAt: started},
		Host: cell.Host{CPU: "A CPU", Cores: 16, Devices: []string{"A GPU"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	here := onGPU("bert", cell.Tiny, 3, 0)
	here.Cell = cell.Cell{Type: "bert"}.Normal()
	for _, r := range []cell.Result{onGPU("vit", cell.Full, 10.1, 10), here, onGPU("bert", cell.Full, 5.05, 5), onGPU("bert", cell.Tiny, 2, 0)} {
		if _, err := j.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := run(t.Context(), &out, &progress, []string{"--md", "--gpu", path}); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "| bert") || strings.HasPrefix(line, "| vit") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	want := []string{
		"| bert | tiny | fp32 | 1 | 2.000 | – | – | – | works |",
		"| bert | full | fp32 | 1 | 5.050 | 5.000 | 1.0100 | – | works |",
		"| vit | full | fp32 | 1 | 10.100 | 10.000 | 1.0100 | – | works |",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table is\n%s", out.String())
	}
	if !strings.Contains(out.String(), "- CPU: A CPU, 16 cores") || !strings.Contains(out.String(), "On A GPU, A CPU (run ") {
		t.Errorf("the worker's machine is not named:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "| 1.00 % at most") || !strings.Contains(out.String(), "| within 2 % | yes |") {
		t.Errorf("the row about events is missing:\n%s", out.String())
	}
}

func TestEventsTooFarAway(t *testing.T) {
	t.Parallel()
	row := eventsRow([]cell.Result{onGPU("bert", cell.Full, 5.2, 5), onGPU("vit", cell.Full, 10, 10)})
	if row.met() != "NO" || !strings.Contains(row.Value, "bert") {
		t.Errorf("4 %% too much is judged %s: %s", row.met(), row.Value)
	}
	if row := eventsRow([]cell.Result{onGPU("bert", cell.Full, 5, 0)}); row.Met != nil {
		t.Errorf("without events there is nothing to judge: %+v", row)
	}
}
