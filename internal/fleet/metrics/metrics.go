// Package metrics writes a fleet's status in Prometheus' text format (version
// 0.0.4), and serves it. The format is a few lines of text, so that no library is needed for
// it; what is measured is in one table, and each row says what it is for.
package metrics

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"assay/internal/fleet"
)

// sample is one value of a metric, with its labels in order: name, value, name, value.
type sample struct {
	labels []string
	value  float64
}

// metric is a row of the table.
type metric struct {
	name, kind, help string
	of               func(s *fleet.Status) []sample
}

func one(v float64) []sample { return []sample{{value: v}} }

func count(name, help string, of func(s *fleet.Status) float64) metric {
	return metric{name, "counter", help, func(s *fleet.Status) []sample { return one(of(s)) }}
}

// metrics are all that is told.
var metrics = []metric{
	{"assay_fleet_tasks", "gauge", "Tasks by state.", func(s *fleet.Status) []sample {
		var out []sample
		for _, state := range fleet.States() { // all of them, so that a graph has no gaps
			out = append(out, sample{[]string{"state", string(state)}, float64(s.Tasks[state])})
		}
		return out
	}},
	count("assay_fleet_attempts_total", "Attempts that were granted.", func(s *fleet.Status) float64 { return float64(s.Tally.Attempts) }),
	count("assay_fleet_accepted_total", "Results that were accepted.", func(s *fleet.Status) float64 { return float64(s.Tally.Accepted) }),
	count("assay_fleet_retried_total", "Attempts that failed and were tried elsewhere.", func(s *fleet.Status) float64 { return float64(s.Tally.Failed) }),
	count("assay_fleet_late_total", "Results that came too late, kept as evidence.", func(s *fleet.Status) float64 { return float64(s.Tally.Late) }),
	count("assay_fleet_lost_total", "Attempts whose worker went silent.", func(s *fleet.Status) float64 { return float64(s.Tally.Lost) }),
	count("assay_fleet_dead_total", "Tasks that were given up with a verdict.", func(s *fleet.Status) float64 { return float64(s.Tally.Dead) }),
	{"assay_fleet_stranded_tasks", "gauge", "Tasks that no worker can run, by target.", func(s *fleet.Status) []sample {
		by := map[string]int{}
		var order []string
		for _, x := range s.Stranded {
			if _, seen := by[x.Target]; !seen {
				order = append(order, x.Target)
			}
			by[x.Target] += x.Tasks
		}
		var out []sample
		for _, t := range order {
			out = append(out, sample{[]string{"target", t}, float64(by[t])})
		}
		return out
	}},
	{"assay_fleet_lane_tasks", "gauge", "Tasks of a lane that wait in the queue or are under way.", func(s *fleet.Status) []sample {
		var out []sample
		for _, l := range s.Lanes {
			out = append(out, sample{[]string{"lane", l.Lane, "state", "queued"}, float64(l.Queued)},
				sample{[]string{"lane", l.Lane, "state", "under_way"}, float64(l.UnderWay)})
		}
		return out
	}},
	{"assay_fleet_workers", "gauge", "Workers by state: open takes tasks, gone was not heard within its lease.", workers},
	{"assay_fleet_worker_running", "gauge", "Tasks that a worker runs.", each(func(w *fleet.WorkerStatus) float64 { return float64(len(w.Running)) })},
	{"assay_fleet_worker_slots", "gauge", "Tasks that a worker runs at most.", each(func(w *fleet.WorkerStatus) float64 { return float64(w.Slots) })},
	{"assay_fleet_worker_clock_skew_seconds", "gauge", "A worker's clock less the coordinator's.", each(func(w *fleet.WorkerStatus) float64 { return w.SkewS })},
	{"assay_fleet_worker_healthy_timestamp_seconds", "gauge", "When a worker last gave the known answer; 0 is never.", each(func(w *fleet.WorkerStatus) float64 {
		if w.Healthy.IsZero() {
			return 0
		}
		return float64(w.Healthy.Unix())
	})},
	{"assay_fleet_sweep_tasks_left", "gauge", "Tasks of an unfinished sweep without an answer.", func(s *fleet.Status) []sample {
		var out []sample
		for i := range s.Sweeps {
			if x := &s.Sweeps[i]; x.Left > 0 {
				out = append(out, sample{[]string{"sweep", x.ID}, float64(x.Left)})
			}
		}
		return out
	}},
	{"assay_fleet_ledger_bytes", "gauge", "Size of the coordinator's ledger.", func(s *fleet.Status) []sample { return one(float64(s.LedgerBytes)) }},
	{"assay_fleet_problem", "gauge", "1 when something keeps the coordinator from its work, such as a full disk.", func(s *fleet.Status) []sample {
		if s.Problem != "" {
			return one(1)
		}
		return one(0)
	}},
}

func workers(s *fleet.Status) []sample {
	by := map[string]int{}
	for i := range s.Workers {
		by[stateOf(&s.Workers[i])]++
	}
	var out []sample
	for _, state := range []string{"open", "draining", "quarantined", "gone"} {
		out = append(out, sample{[]string{"state", state}, float64(by[state])})
	}
	return out
}

func stateOf(w *fleet.WorkerStatus) string {
	switch {
	case !w.Alive:
		return "gone"
	case w.Quarantined != "":
		return "quarantined"
	case w.Draining:
		return "draining"
	}
	return "open"
}

// each is a value of every worker that is there.
func each(of func(w *fleet.WorkerStatus) float64) func(s *fleet.Status) []sample {
	return func(s *fleet.Status) []sample {
		var out []sample
		for i := range s.Workers {
			if w := &s.Workers[i]; w.Alive {
				out = append(out, sample{[]string{"worker", w.Name}, of(w)})
			}
		}
		return out
	}
}

// Write writes the status as metrics.
func Write(w io.Writer, s fleet.Status) error {
	b := bufio.NewWriter(w)
	for _, m := range metrics {
		samples := m.of(&s)
		if len(samples) == 0 {
			continue
		}
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, x := range samples {
			b.WriteString(m.name)
			for i := 0; i < len(x.labels); i += 2 {
				sep := "{"
				if i > 0 {
					sep = ","
				}
				b.WriteString(sep + x.labels[i] + `="` + escape(x.labels[i+1]) + `"`)
			}
			if len(x.labels) > 0 {
				b.WriteString("}")
			}
			b.WriteString(" " + strconv.FormatFloat(x.value, 'g', -1, 64) + "\n")
		}
	}
	return b.Flush()
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escape(s string) string { return escapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

// Handler serves what status returns, at /metrics; anything else is not found.
func Handler(status func(context.Context) (fleet.Status, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		s, err := status(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = Write(w, s) // whoever asked is gone
	})
	return mux
}
