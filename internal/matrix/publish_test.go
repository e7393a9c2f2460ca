package matrix

import (
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// What was published stands only where nobody here ran a type, and counts nowhere.
func TestPublish(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	own := Observation{Result: cell.Result{Cell: cell.Cell{Type: "bert", Target: "cuda", Size: cell.Tiny}.Normal(), Verdict: cell.Fails, Evidence: cell.Measured, StartedAt: now,
		Failure: &cell.Failure{Class: cell.Crash}}}
	m := Fold([]Observation{own}, Options{Now: now, Models: []Model{{Type: "bert"}, {Type: "bert", Checkpoint: "a/b"}}})
	before := m.Count()
	says := map[platform.Name]Published{platform.CUDA: {Verdict: cell.Works, Evidence: cell.Measured, At: now}, platform.MPS: {Verdict: cell.Works, Evidence: cell.Derived, At: now}}
	m.Publish(func(string) map[platform.Name]Published { return says })
	for _, row := range m.Rows {
		for _, s := range row.Squares {
			want := row.Checkpoint == "" && s.Platform == platform.MPS
			if (s.Atlas != nil) != want || want && (s.Verdict != NotRun || s.Atlas.Shown() != cell.ShouldWork) {
				t.Errorf("%s on %s: %+v", row.Model, s.Platform, s)
			}
		}
	}
	for v, n := range m.Count() {
		if before[v] != n {
			t.Errorf("%s: %d, before %d", v, n, before[v])
		}
	}
}
