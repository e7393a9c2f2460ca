package trend

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
)

// TestOf: a planted step is told with the two runs that it lies between and what
// changed there; what may not be compared is another history.
func TestOf(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var entries []compare.Entry
	add := func(run int, level float64, torch string, changes ...func(*cell.Result)) {
		r := &cell.Result{
			Cell: cell.Cell{Type: "bert"}.Normal(), SubjectHash: "s", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Thorough,
			Context: cell.Context{Versions: map[string]string{"torch": torch}}, StartedAt: time.Unix(int64(run)*86400, 0),
		}
		r.Latency = &cell.Latency{Stable: run != 3}
		for range 6 {
			r.Latency.SamplesMS = append(r.Latency.SamplesMS, []float64{level * math.Exp(0.01*random.NormFloat64())})
		}
		for _, c := range changes {
			c(r)
		}
		entries = append(entries, compare.Entry{Result: r, Run: string(rune('a' + run)), Host: cell.Host{ID: "h"}})
	}
	for run := range 20 {
		level, torch := 10.0, "2.15.0"
		if run >= 14 {
			level, torch = 11.5, "2.16.0"
		}
		add(run, level, torch)
	}
	add(20, 30, "2.16.0", func(r *cell.Result) { r.SubjectHash = "t" })
	add(21, 30, "2.16.0", func(r *cell.Result) { r.Timing = cell.Quick })
	add(22, 30, "2.16.0", func(r *cell.Result) { r.Evidence = cell.Emulated })
	add(23, 30, "2.16.0", func(r *cell.Result) { r.Latency = nil })
	got := Of(entries)
	if len(got) != 3 || len(got[0].Points) != 20 || len(got[0].Steps) != 1 || len(got[1].Points) != 1 {
		t.Fatalf("%d histories: %+v", len(got), got)
	}
	for i, p := range got[0].Points {
		if p.Unstable != (i == 3) {
			t.Errorf("run %d: unstable is %v", i, p.Unstable)
		}
	}
	s := got[0].Steps[0]
	if s.After.Run != "n" || s.Before.Run != "o" || math.Abs(s.Ratio-1.15) > 0.02 {
		t.Errorf("%+v", s)
	}
	if len(s.Changed) != 1 || s.Changed[0] != (compare.Differs{Field: "torch", A: "2.15.0", B: "2.16.0"}) {
		t.Errorf("%+v", s.Changed)
	}
	if got := Of(nil); len(got) != 0 {
		t.Error(got)
	}
}
