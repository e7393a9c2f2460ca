package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/home"
	"assay/internal/journal"
)

// began is when the results of these tests started, the first of them.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// withResults gives the program a database of its own that holds these
// results, one run, as a worker's journal would have brought them.
func (p *program) withResults(t testing.TB, results ...cell.Result) {
	t.Helper()
	db := filepath.Join(p.dir, "kept.duckdb")
	p.globals = []string{"--db", db}
	j, err := journal.Create(db+".journals", journal.Header{
		Schema: journal.Schema, Host: cell.Host{ID: "elsewhere", OS: "linux", Arch: "amd64", CPU: "a CPU", Cores: 2},
		Run: cell.Run{ID: journal.NewRunID(began), StartedAt: began, PlanHash: "0123456789abcdef", Command: "bench"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		r.StartedAt = began.Add(time.Duration(i) * time.Second)
		if _, err := j.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.End(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// resultOf is what a cell that works gave.
func resultOf(c cell.Cell) cell.Result {
	c = c.Normal()
	s := cell.SettingsOf(c)
	return cell.Result{
		Cell: c, SubjectHash: "5ub1ec7", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Functional,
		Requested: s, Actual: &s, Attempts: 1, Outputs: []cell.Output{},
		Context: cell.Context{Versions: map[string]string{"torch": "2.9.0", "transformers": "5.17.0"}},
	}
}

// timedOn is a bench of a tiny bert on a target, six repeats around ms.
func timedOn(target string, ms float64) cell.Result {
	r := resultOf(cell.Cell{Type: "bert", Family: "encoder-only", Target: target})
	r.Timing = cell.Quick
	l := &cell.Latency{Repeats: 6, N: 18, MedianMS: ms, MinMS: ms, MaxMS: ms, Stable: true}
	for i := range 6 {
		at := ms * (1 + float64(i)/1000)
		l.SamplesMS = append(l.SamplesMS, []float64{at, at, at})
	}
	r.Latency = l
	return r
}

// A ratio needs the samples, which the store gives only to those who ask.
func TestSpeedupsReachTheMatrix(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.withResults(t, timedOn("cpu", 92), timedOn("openvino", 0.122), timedOn("cpu/onnxruntime", 46))
	var doc struct {
		Matrix struct {
			Rows []struct {
				Squares []struct {
					Platform string
					Speedup  *struct{ Ratio, Lo, Hi float64 }
				}
			}
		}
		Fastest []struct {
			Platform string
			Speedup  *struct{ Ratio float64 }
		}
		Performance []struct {
			MediansMS []float64 `json:"repeat_medians_ms"`
		}
	}
	if err := json.Unmarshal([]byte(p.ok(t, "matrix", "show", "bert", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Matrix.Rows[0].Squares {
		switch {
		case s.Platform == "openvino" && (s.Speedup == nil || s.Speedup.Ratio < 700 || s.Speedup.Lo >= s.Speedup.Hi):
			t.Errorf("openvino's speed-up is %+v", s.Speedup)
		case s.Platform == "cpu" && s.Speedup != nil:
			t.Errorf("the CPU is %+v faster than itself", s.Speedup)
		}
	}
	if f := doc.Fastest; len(f) != 1 || f[0].Platform != "openvino" || f[0].Speedup == nil || f[0].Speedup.Ratio < 700 {
		t.Errorf("the fastest is %+v", f)
	}
	if len(doc.Performance) != 3 || len(doc.Performance[0].MediansMS) != 6 {
		t.Errorf("the repeats' medians are lost: %+v", doc.Performance)
	}
	for _, args := range [][]string{{"matrix", "show", "bert", "--metric", "speedup"}, {"report", "--format", "md"}} {
		if text := p.ok(t, args...); !strings.Contains(text, "754×") && !strings.Contains(text, "750×") {
			t.Errorf("%v shows no ratio:\n%s", args, text)
		}
	}
}

// Where nothing can be compared no number stands beside a winner.
func TestNoRatioWithoutSamples(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	bare := timedOn("openvino", 0.122)
	bare.Latency.SamplesMS = nil
	p.withResults(t, timedOn("cpu", 92), bare)
	text := p.ok(t, "matrix", "show", "bert")
	if strings.Contains(text, "1×") || !strings.Contains(text, "the samples of both sides are not kept") {
		t.Error(text)
	}
}

// What fails in a browser's processor says nothing about torch on the same one.
func TestEnginesAreNotMixed(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	wasm := resultOf(cell.Cell{Type: "bert", Target: "cpu/wasm"})
	wasm.Verdict, wasm.Failure = cell.Fails, &cell.Failure{Class: cell.Export, Detail: "no exporter could write it"}
	p.withResults(t, wasm, resultOf(cell.Cell{Type: "bert", Target: "cpu"}))
	report := func(name string, r cell.Result) string {
		b, err := json.Marshal(cell.Report{Schema: cell.Schema, Results: []cell.Result{r}})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(p.dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	torch, page := report("torch.json", resultOf(cell.Cell{Type: "bert", Target: "cpu"})), report("wasm.json", wasm)
	if text := p.ok(t, "models", "diff", torch, page); !strings.Contains(text, "broken: 0") {
		t.Error(text)
	}
	var shown struct {
		Ran []struct{ Target, Verdict string }
	}
	if err := json.Unmarshal([]byte(p.ok(t, "models", "show", "bert", "--json", "--no-setup")), &shown); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]string{}
	for _, r := range shown.Ran {
		verdicts[r.Target] = r.Verdict
	}
	if verdicts["cpu"] != "works" || verdicts["cpu/wasm"] != "fails" {
		t.Errorf("%v", verdicts)
	}
}

// What a fallback costs is known from this host's own times alone.
func TestPastIsOfThisHost(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	loose := timedOn("cuda", 3)
	loose.Latency.Sync = "host-dispatch only"
	broken := timedOn("cuda", 2)
	broken.Verdict = cell.Fails
	p.withResults(t, timedOn("cpu", 92), loose, broken, resultOf(cell.Cell{Type: "bert", Target: "openvino"}))
	kept := home.Home{DB: filepath.Join(p.dir, "kept.duckdb")}
	plan := cell.Plan{Cells: []cell.Cell{{Type: "bert", Target: "cuda"}}}
	known, err := kept.Times(t.Context(), "elsewhere", plan)
	if err != nil || len(known) != 1 || known[0].MedianMS != 92 || known[0].Subject == "" || known[0].Cell.Target != "cpu" {
		t.Errorf("%v: %+v", err, known)
	}
	if known, err = kept.Times(t.Context(), "here", plan); err != nil || len(known) != 0 {
		t.Errorf("times of another machine are taken for this one's: %v, %+v", err, known)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = kept.Times(ctx, "elsewhere", plan); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped program goes on reading: %v", err)
	}
}
