package matrix

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
)

func TestShown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		verdict  cell.Verdict
		evidence cell.Evidence
		want     cell.Verdict
	}{
		{cell.Works, cell.Measured, cell.Works},
		{cell.Works, cell.Emulated, cell.Works},
		{cell.Works, cell.Compiled, ShouldWork},
		{cell.Works, cell.Derived, ShouldWork},
		{cell.Works, cell.Predicted, ShouldWork},
		{cell.Partial, cell.Derived, ShouldWorkPartly},
		{cell.Partial, cell.Measured, cell.Partial},
		{cell.Fails, cell.Derived, cell.Fails},
		{cell.Unavailable, cell.None, cell.Unavailable},
	} {
		if got := Shown(tc.verdict, tc.evidence); got != tc.want {
			t.Errorf("%s, %s is shown as %s, want %s", tc.verdict, tc.evidence, got, tc.want)
		}
	}
}

func TestTotalsNeverAddWhatRanToWhatShould(t *testing.T) {
	t.Parallel()
	m := Matrix{Rows: []Row{{Family: "a", Squares: []Square{{Verdict: cell.Works, Evidence: cell.Measured}, {Verdict: cell.Works, Evidence: cell.Derived}}}},
		Platforms: []platform.Name{platform.CPU, platform.ROCm}}
	if c := m.Count(); c[cell.Works] != 1 || c[ShouldWork] != 1 {
		t.Errorf("counts are %v", c)
	}
	if f := m.Families()[0]; f.Counts[0].Verdicts[cell.Works] != 1 || f.Counts[1].Verdicts[ShouldWork] != 1 {
		t.Errorf("by family: %+v", f)
	}
}
