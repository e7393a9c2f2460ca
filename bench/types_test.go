package main

import (
	"os"
	"path/filepath"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
)

func TestSummed(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := &cell.Numerics{Control: &cell.Control{Pass: true}}
	missed := &cell.Numerics{Control: &cell.Control{}}
	got := summed(cat, []cell.Result{
		{Cell: cell.Cell{Type: "bert"}, Verdict: cell.Works, Numerics: seen},
		{Cell: cell.Cell{Type: "t5"}, Verdict: cell.Partial, Numerics: missed},
		{Cell: cell.Cell{Type: "vit"}, Verdict: cell.Fails},
		{Cell: cell.Cell{Type: "no-such-type"}, Verdict: cell.Works, Numerics: &cell.Numerics{Control: &cell.Control{Kind: cell.OtherInput, Pass: true}}},
	})
	if got.all != 4 || got.run != 3 || got.works != 2 || got.auto != 3 || got.autoRun != 2 || got.controlled != 2 || got.damaged != 1 {
		t.Errorf("%+v", got)
	}
	if got.trouble() != "these do not: vit" {
		t.Errorf("the note is %q", got.trouble())
	}
}

// TestDescendants: children and grandchildren count, others do not, a strange
// name does not mislead.
func TestDescendants(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for pid, p := range map[string]struct{ stat, pss string }{
		"10": {"10 (assay) S 1 10 10", "100"},
		"11": {"11 (a) b (c) S 10 11 11", "7"},
		"12": {"12 (python) S 11 11 11", "5"},
		"13": {"13 (other) S 1 13 13", "50"},
		"14": {"14 (broken", "50"},
	} {
		dir := filepath.Join(proc, pid)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"stat": p.stat, "smaps_rollup": "55-7f ---p 0 [rollup]\nRss: 9 kB\nPss:   " + p.pss + " kB\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := descendants(proc, 10); got != 12<<10 {
		t.Errorf("%d bytes below 10, want %d", got, 12<<10)
	}
}
