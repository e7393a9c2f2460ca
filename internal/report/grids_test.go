package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// TestCoverageGrid: every count has its own column, and what is in none of them failed.
func TestCoverageGrid(t *testing.T) {
	t.Parallel()
	g := coverageGrid([]matrix.Coverage{{Target: "openvino", Size: cell.Tiny, DType: "fp32", Models: 29, Whole: 2, Limited: 3, WithLeftOvers: 4, OtherPartial: 5,
		ShouldWork: 6, OtherSetting: 7, Fails: map[cell.FailureClass]int{cell.Export: 9}}, {Models: fewModels - 1}})
	got := map[string]string{}
	for i, name := range g.head {
		got[name] = g.rows[0][i]
	}
	want := map[string]string{"target": "openvino", "size": "tiny", "dtype": "fp32", "models": "29", "whole": "2", "limited": "3", "unplaced": "4", "other": "5",
		"should work": "6", "other setting": "7", "fail": "9", "whole of base": notMeasured, "run of base": notMeasured, "evidence": "", "failures": "9 export"}
	if diff := cmp.Diff(want, got); diff != "" || len(g.rows) != 1 {
		t.Error(diff, len(g.rows))
	}
}
