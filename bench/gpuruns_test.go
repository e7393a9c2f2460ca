package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/platform"
)

// writeRun writes a worker's journal of this many cells that took so long.
func writeRun(t *testing.T, dir, name string, timing cell.Timing, cells int, took time.Duration, importMS float64) string {
	t.Helper()
	path, started := filepath.Join(dir, name+".jsonl"), time.Date(2026, 11, 16, 5, 0, 0, 0, time.UTC)
	j, err := journal.CreateFile(path, journal.Header{
		Schema: journal.Schema, Run: cell.Run{ID: journal.NewRunID(started), StartedAt: started, PlanHash: string(timing)}, Host: cell.Host{CPU: "A CPU", Devices: []string{"A GPU"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cells {
		r := onGPU(fmt.Sprintf("type%d", i), cell.Tiny, 2, 0)
		r.Timing, r.Attempts, r.PhasesMS = timing, 1, map[string]float64{"import": importMS}
		if r.Context.JobsBefore = i % 2; r.Context.JobsBefore > 0 {
			r.PhasesMS["import"] = 0
		}
		if timing == cell.Functional {
			r.Latency = nil
		}
		if _, err := j.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	here := cell.Result{Cell: cell.Cell{Type: "bert", Platform: platform.CPU}.Normal(), Verdict: cell.Works, Timing: timing}
	if _, err := j.Append(here); err != nil {
		t.Fatal(err)
	}
	if _, err := j.AppendDetection(started.Add(took), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRunsOnAGPU: the first sweep of a plan has a different bar from the next, a
// timed run is divided among its cells, and what misses its bar says so.
func TestRunsOnAGPU(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows, err := runRows([]string{
		writeRun(t, dir, "first", cell.Functional, every, 150*time.Second, 20),
		writeRun(t, dir, "again", cell.Functional, every, 150*time.Second, 200),
		writeRun(t, dir, "few", cell.Functional, 12, 150*time.Second, 20),
		writeRun(t, dir, "quick", cell.Quick, 10, 25*time.Second, 20),
	})
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		name, value string
		met         bool
	}
	var got []short
	for _, r := range rows {
		got = append(got, short{r.Name, r.Value, r.Met != nil && *r.Met})
	}
	want := []short{
		{"every type on a GPU, the first time", "150 s", true}, {"import in a fresh child", "20 ms", true},
		{"every type on a GPU, recipes kept", "150 s", false}, {"import in a fresh child", "200 ms", false},
		{"a further quick cell on a GPU", "2.5 s", true},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if rows[0].Data["fresh"] != every/2 || rows[0].Data["cells"] != every {
		t.Errorf("of the first sweep: %v", rows[0].Data)
	}
}
