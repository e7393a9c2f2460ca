package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"assay/internal/fleet"
)

var status = fleet.Status{
	Tasks: map[fleet.State]int{fleet.Queued: 3, fleet.Done: 7},
	Tally: fleet.Tally{Attempts: 9, Accepted: 7, Late: 1, Lost: 1},
	Workers: []fleet.WorkerStatus{
		{Name: "a", Alive: true, Slots: 4, Running: []fleet.Activity{{Key: "k"}}, Healthy: time.Unix(1700000000, 0), SkewS: -3600.5},
		{Name: "b\"\\\nb", Alive: true, Quarantined: "wrong"},
		{Name: "c"}, {Name: "d", Alive: true, Draining: true},
	},
	Sweeps:   []fleet.SweepStatus{{Sweep: fleet.Sweep{ID: "s1"}, Left: 3}, {Sweep: fleet.Sweep{ID: "s2"}}},
	Lanes:    []fleet.LaneStatus{{Lane: "cuda", Queued: 2, UnderWay: 1}},
	Stranded: []fleet.Stranded{{Target: "cuda", Tasks: 2}, {Target: "cuda", Tasks: 1}},
}

var (
	comment = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
	value   = regexp.MustCompile(`^([a-z_]+)(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})? (-?[0-9.e+]+)$`)
)

// TestWrite: the text is what Prometheus reads: each metric has help and type before its values, and no
// series comes twice.
func TestWrite(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := Write(&b, status); err != nil {
		t.Fatal(err)
	}
	kinds, seen := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := comment.FindStringSubmatch(line); m != nil {
			if m[1] == "TYPE" {
				kinds[m[2]] = m[3]
			}
			continue
		}
		m := value.FindStringSubmatch(line)
		switch {
		case m == nil:
			t.Errorf("%q cannot be read", line)
		case kinds[m[1]] == "":
			t.Errorf("%q comes before its type", line)
		case seen[m[1]+m[2]]:
			t.Errorf("%q comes twice", line)
		case kinds[m[1]] == "counter" != strings.HasSuffix(m[1], "_total"):
			t.Errorf("%s is a %s", m[1], kinds[m[1]])
		default:
			seen[m[1]+m[2]] = true
		}
	}
	for _, want := range []string{
		`assay_fleet_tasks{state="queued"} 3`, `assay_fleet_tasks{state="running"} 0`, `assay_fleet_accepted_total 7`,
		`assay_fleet_workers{state="open"} 1`, `assay_fleet_workers{state="quarantined"} 1`, `assay_fleet_workers{state="gone"} 1`, `assay_fleet_workers{state="draining"} 1`,
		`assay_fleet_worker_running{worker="a"} 1`, `assay_fleet_worker_slots{worker="b\"\\\nb"} 0`, `assay_fleet_worker_clock_skew_seconds{worker="a"} -3600.5`,
		`assay_fleet_worker_healthy_timestamp_seconds{worker="a"} 1.7e+09`, `assay_fleet_stranded_tasks{target="cuda"} 3`,
		`assay_fleet_sweep_tasks_left{sweep="s1"} 3`, `assay_fleet_lane_tasks{lane="cuda",state="under_way"} 1`, `assay_fleet_problem 0`,
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%s is missing in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), `"s2"`) {
		t.Error("a sweep that is over is told for ever")
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	fails := false
	h := Handler(func(context.Context) (fleet.Status, error) {
		if fails {
			return fleet.Status{}, errors.New("the ledger is gone")
		}
		return status, nil
	})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	if w := get("/metrics"); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := get("/"); w.Code != http.StatusNotFound {
		t.Errorf("/: %d", w.Code)
	}
	fails = true
	if w := get("/metrics"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", w.Code)
	}
}
