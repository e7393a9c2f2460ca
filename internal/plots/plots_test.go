package plots

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/matrix"
	"assay/internal/platform"
	"assay/internal/trend"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// timed is a timed result of a model on a target.
func timed(model, target string, batch int, ms float64, stable bool) matrix.Observation {
	n := int64(batch) * 1e6
	zero := int64(0)
	c := cell.Cell{Type: model, Task: "fill-mask", Target: target, DType: platform.FP32, Size: cell.Tiny, Batch: batch}.Normal()
	return matrix.Observation{Host: "here", Result: cell.Result{
		Cell: c, SubjectHash: "s", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick, StartedAt: noon,
		Latency: &cell.Latency{Repeats: 3, N: 3, MedianMS: ms, Stable: stable, SamplesMS: [][]float64{{ms, ms}, {ms, ms}, {ms, ms}}},
		Memory:  &cell.Memory{HostBaselineBytes: &zero, HostPeakBytes: &n},
	}}
}

func byName(t *testing.T, list []Plot) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range list {
		out[p.Name] = string(p.SVG)
		d := xml.NewDecoder(strings.NewReader(string(p.SVG)))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is no XML: %v", p.Name, err)
			}
		}
	}
	return out
}

// Every plot is drawn from what it needs; names are text whatever they hold, and
// what is unstable is marked.
func TestOf(t *testing.T) {
	t.Parallel()
	bad := `<script>"&`
	rate := 12.5
	speaks := timed("gpt2", "cpu", 1, 30, true)
	speaks.Cell.Mode = cell.Generate
	speaks.Generation = &cell.Generation{NewTokens: 8, TokensPerS: &rate}
	p := trend.Point{Run: "r", At: noon, MedianMS: 5}
	q := p
	q.At = noon.Add(time.Hour)
	series := []trend.Series{{Cell: compare.Named{Model: bad, Target: "cpu"}, Points: []trend.Point{p, q}, Steps: []trend.Step{{After: p, Before: q, Ratio: 1.25}}}}
	got := byName(t, Of([]matrix.Observation{timed(bad, "cpu", 1, 10, true), timed(bad, "openvino", 1, 2, false), timed(bad, "cpu", 4, 20, true), speaks}, series))
	for name, want := range map[string][]string{
		"latency.svg": {"10.0 ms", "2.00 ms ~", "url(#shaky)", "&lt;script&gt;"},
		"speedup.svg": {"5.00× ~", "openvino"},
		"memory.svg":  {"1.00 MB"},
		"batch.svg":   {"batch", "cpu fp32"},
		"decode.svg":  {"12.5", "gpt2"},
		"trend.svg":   {"+25 %", "2026-11-18 12:00"},
	} {
		for _, w := range want {
			if !strings.Contains(got[name], w) {
				t.Errorf("%s lacks %s:\n%s", name, w, got[name])
			}
		}
		if strings.Contains(got[name], "<script>") {
			t.Errorf("%s has markup of a name", name)
		}
	}
}

// Nothing is drawn of nothing, and of what was not timed on a device.
func TestNothing(t *testing.T) {
	t.Parallel()
	emulated := timed("bert", "qnn", 1, 3, true)
	emulated.Evidence, emulated.Memory = cell.Emulated, nil
	functional := timed("bert", "cpu", 1, 3, true)
	functional.Timing, functional.Memory = cell.Functional, nil
	if got := Of([]matrix.Observation{emulated, functional}, nil); len(got) != 0 {
		t.Errorf("%d plots of nothing", len(got))
	}
	dir := t.TempDir() + "/none"
	if names, err := Write(dir, nil); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made for no plots")
	}
}

// A plot says how many of how many it shows.
func TestMany(t *testing.T) {
	t.Parallel()
	var list []matrix.Observation
	for i := range 100 {
		list = append(list, timed(fmt.Sprintf("m%03d", i), "cpu", 1, float64(i+1), true))
	}
	got := byName(t, Of(list, nil))
	if !strings.Contains(got["latency.svg"], "the first 40 of 100 cells") || strings.Count(got["latency.svg"], "<title>") != most {
		t.Error(got["latency.svg"])
	}
}

// A scale keeps the order of values and stays inside.
func TestScale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e6), 2, 20).Draw(t, "values")
		s := fromZero(values, 100, 800)
		for i, v := range values {
			if at := s.at(v); at < 100 || at > 800 {
				t.Fatalf("%g is at %g", v, at)
			}
			if w := values[(i+1)%len(values)]; v < w && s.at(v) > s.at(w) {
				t.Fatalf("%g stands behind %g", v, w)
			}
		}
		if n := len(s.ticks()); n > 12 {
			t.Fatalf("%d ticks", n)
		}
	})
}
