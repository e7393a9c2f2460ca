package lab

import (
	"context"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
)

func on(target string, batch int) cell.Cell {
	return cell.Cell{Type: "x", Target: target, Task: "t", Batch: batch}.Normal()
}

// TestFallbackCost: a cost is the ratio of two times of one subject on this
// host; where there are not both it is null and says why. The script's subject
// is "s", and its fallback takes 2 ms.
func TestFallbackCost(t *testing.T) {
	t.Parallel()
	both := []cell.Time{{Cell: on("cuda", 1), Subject: "s", MedianMS: 0.5}, {Cell: on("cpu", 1), Subject: "s", MedianMS: 4}}
	for name, tt := range map[string]struct {
		past   Past
		timing cell.Timing
		asked  float64 // the asked target's cost; 0 is null
		own    float64 // the fallback's own
		why    string  // of the fallback's own, where it is null
	}{
		"known":               {Past{Times: both}, cell.Functional, 8, 8, ""},
		"the newest counts":   {Past{Times: append([]cell.Time{{Cell: on("cpu", 1), Subject: "s", MedianMS: 1}}, both...)}, cell.Functional, 2, 2, ""},
		"timed now":           {Past{Times: both[:1]}, cell.Quick, 0, 4, ""},
		"not timed":           {Past{Times: both[:1]}, cell.Functional, 0, 0, "cpu was never timed"},
		"asked never timed":   {Past{Times: both[1:]}, cell.Quick, 0, 0, "cuda was never timed with these settings on this host"},
		"another subject":     {Past{Times: []cell.Time{{Cell: on("cuda", 1), Subject: "s", MedianMS: 0.5}, {Cell: on("cpu", 1), Subject: "other", MedianMS: 4}}}, cell.Functional, 0, 0, "cpu was never timed"},
		"another batch":       {Past{Times: []cell.Time{{Cell: on("cuda", 8), Subject: "s", MedianMS: 0.5}, both[1]}}, cell.Functional, 0, 0, "cuda was never timed"},
		"another engine":      {Past{Times: []cell.Time{both[0], {Cell: on("cpu/wasm", 1), Subject: "s", MedianMS: 4}}}, cell.Functional, 0, 0, "cpu was never timed"},
		"unstable before":     {Past{Times: []cell.Time{{Cell: on("cuda", 1), Subject: "s", MedianMS: 0.5, Unstable: true}, both[1]}}, cell.Functional, 0, 0, "cuda has only unstable times"},
		"a stable one before": {Past{Times: append([]cell.Time{{Cell: on("cpu", 1), Subject: "s", MedianMS: 1, Unstable: true}}, both...)}, cell.Functional, 8, 8, ""},
		"nothing can be read": {Past{Why: "in use"}, cell.Functional, 0, 0, "in use"},
	} {
		var obs notes
		plan, err := cells(cell.Cell{Type: "x", Platform: platform.CUDA}).Normal()
		if err != nil {
			t.Fatal(err)
		}
		plan.Timing = tt.timing
		l := &Lab{Runner: &script{do: good}, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: 1 << 40, Past: tt.past}
		if err := l.Carry(t.Context(), plan, &obs); err != nil || len(obs.results) != 2 {
			t.Fatalf("%s: %v, %d results", name, err, len(obs.results))
		}
		asked, own := obs.results[0].Fallback, obs.results[1].Fallback
		if got := ratio(asked.Cost); got != tt.asked || (got == 0) != (asked.NoCost != "") {
			t.Errorf("%s: the asked target's cost is %v (%s), want %v", name, got, asked.NoCost, tt.asked)
		}
		if got := ratio(own.Cost); got != tt.own || !strings.Contains(own.NoCost, tt.why) || (got == 0) != (own.NoCost != "") {
			t.Errorf("%s: the fallback's own cost is %v (%s), want %v (%s)", name, got, own.NoCost, tt.own, tt.why)
		}
	}
}

func ratio(c *cell.Cost) float64 {
	if c == nil || c.Evidence != cell.Measured {
		return 0
	}
	return c.Ratio
}

// TestDisturbedTimesCostNothing: no cost is computed from a time that other
// programs spoilt, also one of the bench that is under way.
func TestDisturbedTimesCostNothing(t *testing.T) {
	t.Parallel()
	var obs notes
	plan, err := cell.Plan{Timing: cell.Quick, Cells: []cell.Cell{{Type: "x", Platform: platform.CUDA}}}.Normal()
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{
		Runner: &script{do: good}, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: 1 << 40,
		Past:   Past{Times: []cell.Time{{Cell: on("cuda", 1), Subject: "s", MedianMS: 0.5}}},
		Others: func(context.Context) Load { return Load{Cores: 2, OfAll: 2, known: true} },
	}
	if err := l.Carry(t.Context(), plan, &obs); err != nil || len(obs.results) != 2 {
		t.Fatalf("%v, %d results", err, len(obs.results))
	}
	if f := obs.results[1].Fallback; f.Cost != nil || !strings.HasPrefix(f.NoCost, "its own time was unstable: the machine was busy") {
		t.Errorf("cost %v, %q", f.Cost, f.NoCost)
	}
}
