package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/pages"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// scripted is a page whose answers a test gives.
type scripted struct {
	answer func(c pages.Call) (any, error)
	closed *int
}

func (s scripted) About() pages.About {
	return pages.About{Browser: "packed", Version: "1", Software: true}
}
func (s scripted) Close() error { *s.closed++; return nil }
func (s scripted) Ask(_ context.Context, c pages.Call, answer any) error {
	said, err := s.answer(c)
	if err != nil || answer == nil {
		return err
	}
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// scriptedBench counts the pages that were opened and closed.
func scriptedBench(t *testing.T, repeats int, answer func(c pages.Call) (any, error)) *Bench {
	t.Helper()
	opened, closed := 0, 0
	t.Cleanup(func() {
		if opened == 0 || opened != closed {
			t.Errorf("%d pages were opened and %d closed", opened, closed)
		}
	})
	open := func(context.Context, platform.Target) (Page, error) {
		opened++
		return scripted{answer, &closed}, nil
	}
	return &Bench{Open: open, Repeats: repeats, Say: func(string) {}}
}

var gpu = platform.Target{Platform: platform.WebGPU}.Normal()

// searching answers searches: each size takes as long as the table says, and
// a little more each time.
func searching(times map[int]float64) func(pages.Call) (any, error) {
	calls := 0.0
	return func(c pages.Call) (any, error) {
		calls++
		var rows []map[string]any
		for _, size := range c.With["sizes"].([]int) {
			base, ok := times[size]
			if !ok {
				rows = append(rows, map[string]any{"size": size, "refused": "a workgroup has at most 256 invocations here"})
				continue
			}
			rows = append(rows, map[string]any{"size": size, "ms": []float64{base + calls/1000}})
		}
		return map[string]any{"clock": "timestamp-query", "rows": rows}, nil
	}
}

func TestWorkgroup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		times           map[int]float64
		repeats         int
		chosen, verdict string
	}{
		"another is faster":   {map[int]float64{32: 5, 64: 4, 128: 2, 256: 3}, 6, "128", "128 is 2.00 × faster"},
		"the default is best": {map[int]float64{32: 5, 64: 1, 128: 2}, 6, "64", "128 is 1.99 × slower: 64 is kept"},
		"all the same":        {map[int]float64{32: 5, 64: 5, 128: 5}, 6, "64", "no difference: 64 is kept"},
		"too few repeats":     {map[int]float64{64: 4, 128: 2}, 2, "", "unknown: too few repeats for an interval"},
		"nothing else":        {map[int]float64{64: 4}, 6, "", "refused: no other size is within the adapter's limits"},
		"wrong numbers":       {map[int]float64{32: 1}, 6, "", "refused: at 64 invocations: a workgroup has at most 256 invocations here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, err := scriptedBench(t, test.repeats, searching(test.times)).Workgroup(t.Context(), gpu, Kernels()[0])
			if err != nil || row.Chosen != test.chosen || row.Verdict() != test.verdict {
				t.Errorf("chosen %q, %q, %v; want %q, %q", row.Chosen, row.Verdict(), err, test.chosen, test.verdict)
			}
		})
	}
}

// TestWarmStart: both ways have fresh pages, the warm one is asked first every
// other time, and what warming costs is told.
func TestWarmStart(t *testing.T) {
	t.Parallel()
	var order []bool
	warm, n := false, 0.0
	row := scriptedBench(t, 6, func(c pages.Call) (any, error) {
		n++
		switch c.Op {
		case "create":
			warm = c.With["warm"].(bool)
			order = append(order, warm)
			return map[string]any{"phases_ms": map[string]float64{"warm": 900}}, nil
		case "run":
			if warm {
				return map[string]float64{"ms": 10 + n/100}, nil
			}
			return map[string]float64{"ms": 1000 + n}, nil
		}
		return map[string]any{}, nil
	}).WarmStart(t.Context(), gpu, Graph{Name: "bert", File: "model.onnx"})
	if !slices.Equal(order[:4], []bool{false, true, true, false}) || len(order) != 12 {
		t.Errorf("the order is %v", order)
	}
	if row.Chosen != "warm" || row.Hi == nil || *row.Hi > 0.02 || !strings.Contains(strings.Join(row.Notes, " "), "900 ms") {
		t.Errorf("%+v", row)
	}
}

func TestParallelLoad(t *testing.T) {
	t.Parallel()
	parts := []Graph{{"text", "a/model.onnx", map[string]string{"a/model.onnx": "/1"}}, {"image", "b/model.onnx", map[string]string{"b/model.onnx": "/2"}}}
	row := scriptedBench(t, 6, func(c pages.Call) (any, error) {
		if len(c.Files) != 2 {
			return nil, fmt.Errorf("%d files", len(c.Files))
		}
		if c.With["at_once"].(bool) {
			return map[string]float64{"ms": 70}, nil
		}
		return nil, errors.New("the renderer crashed")
	}).ParallelLoad(t.Context(), gpu, "clip", parts)
	if row.Verdict() != "refused: the renderer crashed" || row.Chosen != "" {
		t.Errorf("%+v", row)
	}
	one := (&Bench{Repeats: 6}).ParallelLoad(t.Context(), gpu, "bert", parts[:1])
	if !strings.Contains(one.Verdict(), "two are needed") {
		t.Errorf("%+v", one)
	}
}

// TestNoTimes: a page that answers without times has answered nothing.
func TestNoTimes(t *testing.T) {
	t.Parallel()
	row := scriptedBench(t, 6, func(pages.Call) (any, error) { return map[string]any{"stock": "transformers.js"}, nil }).OwnKernel(t.Context(), gpu, Duels()[0], nil)
	if row.Refused != "the page gave no times" || row.A.MedianMS != nil || row.Chosen != "" {
		t.Errorf("%+v", row)
	}
	if _, err := json.Marshal(row); err != nil {
		t.Error(err)
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	nvidia, coarse := &Adapter{Vendor: "nvidia"}, &Adapter{Vendor: "google", Architecture: "swiftshader"}
	nn := platform.Target{Platform: platform.WebNN}.Normal()
	for i, test := range []struct {
		on      platform.Target
		about   pages.About
		adapter *Adapter
		want    cell.Evidence
	}{
		{gpu, pages.About{}, nvidia, cell.Measured},
		{gpu, pages.About{}, coarse, cell.Emulated},
		{gpu, pages.About{Software: true}, nvidia, cell.Emulated},
		{gpu, pages.About{}, &Adapter{Fallback: true}, cell.Emulated},
		{nn, pages.About{Software: true}, coarse, cell.Measured},
	} {
		if got := evidence(test.on, test.about, test.adapter); got != test.want {
			t.Errorf("%d: %s, want %s", i, got, test.want)
		}
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	book := Book{filepath.Join(t.TempDir(), "web-tuning.json")}
	here := Setting{"packed", "1", &Adapter{Vendor: "google"}, cell.Emulated}
	if chosen, err := book.Chosen(here); err != nil || len(chosen) != 0 {
		t.Fatalf("an empty book: %v, %v", chosen, err)
	}
	size := Size{Browser: "packed", Adapter: *here.Adapter, Kernel: "stft", Workgroup: 128, TunedAt: time.Unix(1, 0).UTC()}
	other := Size{Browser: "packed", Adapter: Adapter{Vendor: "nvidia"}, Kernel: "stft", Workgroup: 256}
	if err := book.Keep(t.Context(), size, other); err != nil {
		t.Fatal(err)
	}
	size.Workgroup = 32
	if err := book.Keep(t.Context(), size); err != nil {
		t.Fatal(err)
	}
	if chosen, err := book.Chosen(here); err != nil || !cmp.Equal(chosen, map[string]int{"stft": 32}) {
		t.Errorf("chosen %v, %v", chosen, err)
	}
	if kept, err := book.For("packed"); err != nil || len(kept) != 2 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if kept, err := book.For("firefox"); err != nil || kept == nil || len(kept) != 0 {
		t.Errorf("of another browser: %v, %v", kept, err)
	}
	for text, want := range map[string]string{`{"schema":2}`: "schema 2", `{`: "cannot be read"} {
		if err := os.WriteFile(book.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestKept: only what an interval shows is kept, "no difference" too.
func TestKept(t *testing.T) {
	t.Parallel()
	one := 1.0
	here := Setting{"packed", "1", &Adapter{}, cell.Emulated}
	row := Row{Chosen: "64", Ratio: &one, Lo: &one, Hi: &one}
	if size, ok := Kept(row, Kernels()[0], here, time.Unix(1, 0)); !ok || size.Workgroup != 64 {
		t.Errorf("%+v %v", size, ok)
	}
	for _, bad := range []Row{{}, {Chosen: "64"}} {
		if _, ok := Kept(bad, Kernels()[0], here, time.Unix(1, 0)); ok {
			t.Errorf("%+v was kept", bad)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	row := Row{What: WarmStart, Subject: "bert", Target: "webgpu", A: Way{Name: "cold"}, B: Way{Name: "warm"}, Notes: []string{"warming takes 900 ms"}}
	row = row.of([][]float64{{1000}, {1001}, {1002}, {1003}, {1004}, {1005}}, [][]float64{{10}, {10.1}, {10.2}, {10.3}, {10.4}, {10.5}}).settled()
	var out bytes.Buffer
	report := Report{Schema, map[string]Setting{"webgpu": {"packed", "153", &Adapter{Vendor: "google", Architecture: "swiftshader"}, cell.Emulated}}, []Row{row, {What: Workgroup, Subject: "mel", Target: "webgpu", Refused: "no adapter"}}}
	if err := WriteText(&out, report); err != nil {
		t.Fatal(err)
	}
	want := `webgpu: packed 153, WebGPU by google swiftshader: software, so its times are emulated and say nothing about a GPU

WHAT            OF    ON      A     B     A MS  B MS  B/A (95 %)             ANSWER
warm start      bert  webgpu  cold  warm  1002  10.2  0.0102 [0.01, 0.0104]  warm is 98 × faster
workgroup size  mel   webgpu                                                 refused: no adapter

warm start, bert on webgpu: warming takes 900 ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// A page whose graph could not be made is asked nothing more of it, and its own
// words are the reason.
func TestAGraphThatIsNotMadeIsNotRun(t *testing.T) {
	t.Parallel()
	var asked []string
	b := scriptedBench(t, 1, func(c pages.Call) (any, error) {
		asked = append(asked, c.Op)
		return nil, errors.New("no such operator")
	})
	row := b.WarmStart(t.Context(), platform.Target{Platform: platform.WebGPU}.Normal(), Graph{Name: "bert"})
	if slices.Contains(asked, "run") || slices.Contains(asked, "blank") {
		t.Errorf("the page was asked %v", asked)
	}
	if text := fmt.Sprintf("%+v", row); strings.Count(text, "no such operator") != 1 {
		t.Errorf("the reason is told as %s", text)
	}
}
