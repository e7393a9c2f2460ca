package matrix

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
)

func TestTotalsNeverAddWhatRanToWhatShould(t *testing.T) {
	t.Parallel()
	m := Matrix{Rows: []Row{{Family: "a", Squares: []Square{{Verdict: cell.Works, Evidence: cell.Measured}, {Verdict: cell.Works, Evidence: cell.Derived}}}},
		Platforms: []platform.Name{platform.CPU, platform.ROCm}}
	if c := m.Count(); c[cell.Works] != 1 || c[cell.ShouldWork] != 1 {
		t.Errorf("counts are %v", c)
	}
	if f := m.Families()[0]; f.Counts[0].Verdicts[cell.Works] != 1 || f.Counts[1].Verdicts[cell.ShouldWork] != 1 {
		t.Errorf("by family: %+v", f)
	}
}
