package consistency

import (
	"context"
	"os"
	"testing"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/report"
	"assay/internal/session"

	"github.com/google/go-cmp/cmp"
)

// TestTables: a table a model, targets in their order, what gave no output by
// name, and batches against single inputs of the same target alone.
func TestTables(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	on := func(model, target string, batch int, kept bool) cell.Result {
		where, err := platform.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		r := cell.Result{Cell: cell.Cell{Type: model, Batch: batch}.On(where), Note: "it did not run"}
		if kept {
			if err := os.WriteFile(lab.Kept(folder, r.Cell), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	results := []cell.Result{
		on("bert", "openvino", 1, true), on("bert", "cpu", 1, true), on("vit", "cpu", 2, true), on("vit", "cpu", 4, true),
		on("bert", "cpu", 2, true), on("bert", "qnn", 1, false), on("bert", "qnn", 2, true),
	}
	difference := 0.5
	compare := func(_ context.Context, files []string, batches [][2]string) (session.Differences, error) {
		var d session.Differences
		for i, a := range files {
			for _, b := range files[i+1:] {
				d.Pairs = append(d.Pairs, session.Difference{A: a, B: b, MaxRel: &difference, Output: "logits"})
			}
		}
		for _, b := range batches {
			d.Batches = append(d.Batches, session.Difference{A: b[0], B: b[1], Note: "only one"})
		}
		return d, nil
	}
	got, err := Tables(t.Context(), folder, results, compare)
	if err != nil {
		t.Fatal(err)
	}
	want := []report.Consistency{
		{
			Model: "bert", Size: "tiny", Weights: "random", Batch: 1, Targets: []string{"cpu fp32", "openvino fp32"},
			Pairs:   []report.Pair{{A: "cpu fp32", B: "openvino fp32", MaxRel: &difference, Output: "logits"}},
			Batches: []report.Pair{{A: "cpu fp32", B: "cpu fp32", Note: "only one"}},
			Missing: []report.MissingOutput{{Target: "qnn fp16", Why: "it did not run"}},
		},
		{Model: "vit", Size: "tiny", Weights: "random", Batch: 2, Targets: []string{"cpu fp32"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
