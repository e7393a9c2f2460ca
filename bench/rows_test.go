package main

import (
	"math"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/progress"
)

func TestOwnWorkLeavesImportsOut(t *testing.T) {
	t.Parallel()
	got := ownMS(map[string]float64{"import": 100, "build": 20, "reference": 3, "control": 2, "first": 1})
	if got != 26 {
		t.Errorf("own work is %v ms, want 26", got)
	}
}

func TestCommitsCountFromLineToLine(t *testing.T) {
	t.Parallel()
	overhead := 40.0
	c := &commits{say: func(string) {}}
	_ = c.Hear(progress.Planned(2))
	c.last = c.last.Add(-200 * time.Millisecond)
	_ = c.Hear(progress.Finished(cell.Result{Verdict: cell.Works, Attempts: 1, OverheadMS: &overhead, PhasesMS: map[string]float64{"import": 30, "build": 50}}))
	_ = c.Hear(progress.Finished(cell.Result{Cell: cell.Cell{Type: "odd"}, Verdict: cell.Fails, Attempts: 1}))
	if len(c.costs) != 1 || c.costs[0] < 150 || c.costs[0] > 10_000 {
		t.Errorf("the cost is %v, want one of 150 ms and a little", c.costs)
	}
	if c.trouble() != "odd fails" {
		t.Errorf("a failing cell is named %q", c.trouble())
	}
	rows := c.rows()
	if len(rows) != 2 || rows[0].Met == nil || rows[1].Met != nil {
		t.Errorf("a median can be judged, a 95th percentile of one cell cannot: %+v", rows)
	}
}

func TestFurther(t *testing.T) {
	t.Parallel()
	got := further(benched{wall: 8, timed: 0.6, cells: 1}, benched{wall: 12.2, timed: 1.8, cells: 4})
	if math.Abs(got-1) > 1e-9 {
		t.Errorf("each further cell costs %v s, want 1", got)
	}
}

func TestTimedSeconds(t *testing.T) {
	t.Parallel()
	r := cell.Report{Results: []cell.Result{{}, {Latency: &cell.Latency{SamplesMS: [][]float64{{100, 200}, {300}}}}}}
	if got := timedSeconds(r); math.Abs(got-0.6) > 1e-9 {
		t.Errorf("got %v s, want 0.6", got)
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for out, ok := range map[string]bool{
		`{"schema":1,"rows":[{"n":7}]}`: true,
		`{"schema":1,"rows":[{"n":6}]}`: false,
		`{"schema":1,"rows":[]}`:        false,
		`not JSON`:                      false,
	} {
		if err := holds([]byte(out), 7); (err == nil) != ok {
			t.Errorf("%s: %v", out, err)
		}
	}
}

// alternations are pairs whose bare side takes 2 ms an iteration.
func alternations(n int, ours float64) pairs {
	var p pairs
	for i := range n {
		jitter := 0.001 * float64(i%7)
		p.bare = append(p.bare, repeat{SamplesMS: []float64{2 + jitter}, CPUMSPerIter: 4 + jitter})
		p.ours = append(p.ours, repeat{SamplesMS: []float64{ours + jitter}, CPUMSPerIter: 2*ours + jitter})
	}
	return p
}

func TestBareIsJudged(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		pairs     pairs
		wall, cpu *bool
	}{
		"the same":                  {alternations(30, 2), &yes, &yes},
		"near, but plainly not 1":   {alternations(30, 2.06), &no, &yes},
		"slower":                    {alternations(30, 2.4), &no, &no},
		"too few alternations":      {alternations(8, 2), nil, nil},
		"too few even for interval": {alternations(2, 2), nil, nil},
	} {
		rows := c.pairs.rows()
		for i, want := range []*bool{c.wall, c.cpu} {
			if got := rows[i].Met; (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s: row %d: %s", name, i, rows[i].met())
			}
		}
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	a := repeat{Threads: 2, Attention: "sdpa"}
	if err := alike(a, a); err != nil {
		t.Error(err)
	}
	for _, b := range []repeat{{Threads: 1, Attention: "sdpa"}, {Threads: 2, Attention: "eager"}} {
		if alike(a, b) == nil {
			t.Errorf("%+v is taken to be like %+v", b, a)
		}
	}
}

func TestDiffering(t *testing.T) {
	t.Parallel()
	if n := differing([]float64{0.04, 0.05, 0.9, 0.001}); n != 2 {
		t.Errorf("%d differ, want 2", n)
	}
}

func TestAppMedian(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		`{"execution_results":{"latency (ms)":"726.25","avg latency":"724.50"}}`: 726.25,
		`{"execution_results":{"latency (ms)":"0"}}`:                             0,
		`{"execution_results":{}}`:                                               0,
		`not json`:                                                               0,
	} {
		got, err := appMedian([]byte(text))
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestCacheRow(t *testing.T) {
	t.Parallel()
	first := carried{phases: map[string]float64{"convert": 9000, "compile": 1000, "build": 500}}
	again := carried{phases: map[string]float64{"convert": 100, "compile": 400}}
	if row := cacheRow("bert", cell.Full, first, again); row.Data["share"] != 0.05 {
		t.Errorf("%+v", row)
	}
}
