package plots

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
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
	r := q
	r.At, r.Unstable = noon.AddDate(0, 0, 1), true
	series := []trend.Series{{Cell: compare.Named{Model: bad, Target: "cpu"}, Points: []trend.Point{p, q, r}, Steps: []trend.Step{{After: p, Before: q, Ratio: 1.25}}}}
	got := byName(t, Of([]matrix.Observation{timed(bad, "cpu", 1, 10, true), timed(bad, "openvino", 1, 2, false), timed(bad, "cpu", 4, 20, true), speaks}, series))
	for name, want := range map[string][]string{
		"latency.svg": {"10.0 ms", "2.00 ms ~", "url(#shaky)", "&lt;script&gt;"},
		"speedup.svg": {"5.00× ~", "openvino"},
		"memory.svg":  {"1.00 MB"},
		"batch.svg":   {"batch", "cpu fp32"},
		"decode.svg":  {"12.5", "gpt2"},
		"trend.svg":   {"+25.0 %", "2026-11-18 12:00", "2026-11-19", "3 runs", `<circle class="c0 hollow"`, ": 5.00 ms ~</title>", "hollow dots are unstable times"},
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

// histories of a fast and a slow cell, each with as large a step.
func twoHistories() []trend.Series {
	var out []trend.Series
	for _, ms := range []float64{1, 1000} {
		s := trend.Series{Cell: compare.Named{Model: "bert", Target: "cpu"}}
		for i := range 10 {
			level := ms * (1 + 0.002*float64(i%2))
			if i >= 6 {
				level *= 1.2
			}
			s.Points = append(s.Points, trend.Point{Run: strconv.Itoa(i), At: noon.AddDate(0, 0, i), MedianMS: level})
		}
		s.Steps = []trend.Step{{After: s.Points[5], Before: s.Points[6], BeforeMS: ms, AfterMS: 1.2 * ms, Ratio: 1.2}}
		out = append(out, s)
	}
	return out
}

var level = regexp.MustCompile(`<line class="level" x1="[0-9.]+" y1="([0-9.]+)"`)

// A step of a fast cell is as high as one of a slow cell, noise alone is not, and two runs are no history.
func TestHistories(t *testing.T) {
	t.Parallel()
	var heights []float64
	for _, m := range level.FindAllStringSubmatch(histories(twoHistories()), -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		heights = append(heights, y)
	}
	if len(heights) != 4 || heights[0]-heights[1] < 60 || math.Abs(heights[2]-heights[0]) > 1 || math.Abs(heights[3]-heights[1]) > 1 {
		t.Errorf("levels at %v: two of each cell, before and after, at the same heights", heights)
	}
	flat := twoHistories()[0]
	flat.Points, flat.Steps = flat.Points[:6], nil
	if y := historyScale(flat, 0); math.Abs(y.at(1)-y.at(1.002)) > 5 {
		t.Errorf("roundings of 0.2 %% are %.0f pixels high", y.at(1)-y.at(1.002))
	}
	short := flat
	short.Points = short.Points[:2]
	if got := histories([]trend.Series{short}); got != "" {
		t.Error(got)
	}
}
