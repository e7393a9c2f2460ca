package main

import (
	"bytes"
	"io"
	"os"
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
	for _, r := range []cell.Result{onGPU("vit", cell.Full, 10.05, 10), here, onGPU("bert", cell.Full, 5.04, 5), onGPU("bert", cell.Tiny, 2, 0)} {
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
		"| bert | full | fp32 | 1 | 5.040 | 5.000 | 1.0080 | – | works |",
		"| vit | full | fp32 | 1 | 10.050 | 10.000 | 1.0050 | – | works |",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table is\n%s", out.String())
	}
	if !strings.Contains(out.String(), "- CPU: A CPU, 16 cores") || !strings.Contains(out.String(), "On A GPU, A CPU (run ") {
		t.Errorf("the worker's machine is not named:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "| 2 of 2; the farthest by its share is off by 0.80 % and 40 µs (bert full fp32)") || !strings.Contains(out.String(), "| within 1 % or 40 µs | yes |") {
		t.Errorf("the row about events is missing:\n%s", out.String())
	}
}

func TestEventsTooFarAway(t *testing.T) {
	t.Parallel()
	row := eventsRow([]cell.Result{onGPU("bert", cell.Full, 5.2, 5), onGPU("vit", cell.Full, 10, 10)})
	if row.met() != "NO" || !strings.Contains(row.Value, "bert") {
		t.Errorf("4 %% too much is judged %s: %s", row.met(), row.Value)
	}
	if row := eventsRow([]cell.Result{onGPU("bert", cell.Tiny, 1.03, 1), onGPU("vit", cell.Full, 10.09, 10)}); row.met() != "yes" {
		t.Errorf("30 µs, and 0.9 %%, are judged %s: %s", row.met(), row.Value)
	}
	if row := eventsRow([]cell.Result{onGPU("bert", cell.Full, 5, 0)}); row.Met != nil {
		t.Errorf("without events there is nothing to judge: %+v", row)
	}
}

// What the bench wrote on the GPU machine comes as it is, beside a worker's journals.
func TestGPUTableFromTheBenchsOwnDocument(t *testing.T) {
	t.Parallel()
	alike := pairs{}
	for range enoughOnGPU {
		alike.bare = append(alike.bare, repeat{SamplesMS: []float64{4, 4.1, 4.2}})
		alike.ours = append(alike.ours, repeat{SamplesMS: []float64{4.1, 4.1, 4.1}})
	}
	slower := pairs{bare: alike.bare}
	for range enoughOnGPU {
		slower.ours = append(slower.ours, repeat{SamplesMS: []float64{4.4, 4.4, 4.4}})
	}
	d := Document{Schema: 1, Machine: Machine{Host: cell.Host{CPU: "A CPU", Cores: 16}}}
	for _, p := range []pairs{alike, slower} {
		row, _ := p.onGPU(gpuSubjects()[0].cell, 1)
		d.Rows = append(d.Rows, row)
	}
	path := filepath.Join(t.TempDir(), "bare.json")
	var text bytes.Buffer
	if err := printJSON(&text, d); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, io.Discard, []string{"--md", "--gpu", path}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- CPU: A CPU, 16 cores", "google-bert/bert-base-uncased fp16, batch 1", "1.000 [1.000, 1.000] (4.100 ms over 4.100 ms) | 0.97 to 1.03, 1 in the interval | yes |", "(4.400 ms over 4.100 ms) | 0.97 to 1.03, 1 in the interval | NO |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if err := os.WriteFile(path, []byte(`{"schema":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), io.Discard, io.Discard, []string{"--gpu", path}); err == nil || !strings.Contains(err.Error(), "neither a worker's journal") {
		t.Errorf("another document gives %v", err)
	}
}
