package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/progress"
)

func written(t *testing.T, f Format, d Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func folder(r *cell.Result) { full("/home/ada/private/my-bert/config.json", cell.Random)(r) }

// Where a folder lies is nobody's business; programs still get the whole path.
func TestFoldersShowNoPath(t *testing.T) {
	t.Parallel()
	w := &sweep{}
	w.put(subjects[0], gpu, "cpu", folder, bench(20, 6))
	w.put(subjects[0], gpu, "cuda", folder, bench(4, 6), onDevice(9))
	w.put(subjects[0], gpu, "mps", folder, fails(cell.Crash, "killed", "see the log"))
	d := NewDocument(w.list, Options{Hosts: []cell.Host{gpu}, Detail: true})
	shown := map[string]string{}
	for _, f := range []Format{Text, Markdown, HTML, SVG} {
		shown[string(f)] = written(t, f, d)
	}
	var results, junit, log bytes.Buffer
	p, l := Both(TextResults(&results), JUnit(&junit)), NewProgress(&log, false, nil)
	for _, x := range w.list {
		p.Result(x.Result)
		tell(l, progress.Finished(x.Result))
	}
	if err := p.Done(Summary{}); err != nil {
		t.Fatal(err)
	}
	shown["results"], shown["junit"], shown["progress"] = results.String(), junit.String(), log.String()
	for name, text := range shown {
		if strings.Contains(text, "private") || !strings.Contains(text, "my-bert") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if !strings.Contains(written(t, JSON, d), "/home/ada/private/my-bert/config.json") {
		t.Error("JSON lost the path")
	}
}

func TestNoopIsNoModel(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "noop", Engine: "noop", Task: "crash"}.Normal()
	r := cell.Result{Cell: c, Verdict: cell.Fails, Evidence: cell.Measured, Failure: &cell.Failure{Class: cell.Crash, Detail: "signal 11"}}
	d := NewDocument([]matrix.Observation{{Result: r, Host: gpu.ID}}, Options{Hosts: []cell.Host{gpu}})
	if d.Results != 0 || len(d.Matrix.Rows) != 0 || len(d.Problems) != 0 {
		t.Errorf("a noop is in the document: %+v", d)
	}
	if text := resultLines(r); !strings.Contains(text, "noop crash") {
		t.Error(text)
	}
}

func TestNothingRunSaysWhatToRun(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Models: fixtureModels()}} {
		for _, f := range []Format{Text, Markdown, HTML} {
			if text := written(t, f, NewDocument(nil, o)); !strings.Contains(text, nothingRun) {
				t.Errorf("%s: %s", f, text)
			}
		}
	}
}

// A matrix of one host, without conditions, weaker evidence or unstable times
// explains none of them.
func TestLegendOnlyOfWhatStands(t *testing.T) {
	t.Parallel()
	w := &sweep{}
	w.put(subjects[0], cloud, "cpu", bench(2, 6))
	w.put(subjects[1], cloud, "cpu")
	w.put(subjects[0], cloud, "cuda", absent("no NVIDIA device"))
	w.put(subjects[1], cloud, "cuda", absent("no NVIDIA device"))
	d := NewDocument(w.list, Options{Hosts: []cell.Host{cloud, gpu}})
	text := written(t, Text, d)
	for _, not := range []string{"condition", "Evidence is", "c1a9e07b  Intel"} {
		if strings.Contains(text, not) {
			t.Errorf("%q stands in\n%s", not, text)
		}
	}
	if !strings.Contains(text, "– cuda  no NVIDIA device (2 models)\n") {
		t.Errorf("no reason in\n%s", text)
	}
	if page := written(t, HTML, d); !strings.Contains(page, "2 cells skipped: no such device.") {
		t.Error("the page says nothing about the cells that were not tried")
	}
	d.Metric = ByLatency
	if text := written(t, Text, d); !strings.Contains(text, "not timed") || strings.Contains(text, "~") {
		t.Errorf("latency:\n%s", text)
	}
	d.Matrix.Rows[0].Squares[0].Latency.Stable = false
	if text := written(t, Text, d); !strings.Contains(text, " ms ~") || !strings.Contains(text, "~ unstable") {
		t.Errorf("an unstable time is not marked:\n%s", text)
	}
}

// A speed-up made of an unstable time is marked as that time is, whichever side it was.
func TestUnstableSpeedupsAreMarked(t *testing.T) {
	t.Parallel()
	for _, shaky := range []string{"", "cpu", "cuda"} {
		w := &sweep{}
		for _, target := range []string{"cpu", "cuda"} {
			ms := map[string]float64{"cpu": 8, "cuda": 2}[target]
			w.put(subjects[0], gpu, target, bench(ms, 6), func(r *cell.Result) { r.Latency.Stable = target != shaky })
		}
		d := NewDocument(w.list, Options{Hosts: []cell.Host{gpu}, Metric: BySpeedup})
		d.Metric = BySpeedup
		for _, f := range []Format{Text, Markdown, HTML, SVG} {
			if got := strings.Contains(written(t, f, d), "× ~"); got != (shaky != "") {
				t.Errorf("%s, unstable on %q: marked %v", f, shaky, got)
			}
		}
		if over, _ := overCPU(d.Fastest[0]); strings.HasSuffix(over, " ~") != (shaky != "") {
			t.Errorf("the fastest, unstable on %q: %q", shaky, over)
		}
		for _, f := range []Format{Text, Markdown} {
			if text := written(t, f, d); strings.Contains(text, "~ unstable") != (shaky != "") {
				t.Errorf("unstable on %q: legend of %s\n%s", shaky, f, text)
			}
		}
	}
}

// The letter is that of the host of what is shown: the number's, not the verdict's.
func TestLettersFollowTheNumber(t *testing.T) {
	t.Parallel()
	w := &sweep{}
	w.put(subjects[0], cloud, "cpu", bench(2, 6))
	w.put(subjects[0], gpu, "cpu") // newer, and not timed
	w.put(subjects[0], gpu, "cuda", bench(1, 6), onDevice(9))
	d := NewDocument(w.list, Options{Hosts: []cell.Host{cloud, gpu}})
	s := d.Matrix.Rows[0].Squares[0]
	if got := lettersOf(d); got != nil {
		t.Errorf("one host speaks, and there are letters: %v", got)
	}
	d.Metric = ByLatency
	if got := lettersOf(d).of(s, ByLatency); got != "a" {
		t.Errorf("letter %q", got)
	}
	if letter(25) != "z" || letter(26) != "27" {
		t.Error(letter(25), letter(26))
	}
}

// Thousands of cells make few lines; failures are named at once.
func TestLinesAreFew(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	now := swept
	p := &lines{w: &b, now: func() time.Time { return now }}
	tell(p, progress.Planned(3000))
	for i := range 2999 {
		r := cell.Result{Cell: cell.Cell{Type: fmt.Sprintf("m%d", i)}.Normal(), Verdict: cell.Works}
		if i == 1234 {
			r.Verdict = cell.Fails
		}
		now = now.Add(10 * time.Millisecond)
		tell(p, progress.Finished(r))
	}
	p.Close()
	p.Close()
	out := b.String()
	if n := strings.Count(out, "\n"); n > 20 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"1/3000 ✓ m0 ", "1235/3000 ✗ m1234 ", "2999/3000 ✓ m2998 "} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out)
		}
	}
}

func TestNumericsNoteIsShown(t *testing.T) {
	t.Parallel()
	w := &sweep{}
	w.put(subjects[0], gpu, "cpu", func(r *cell.Result) {
		r.Numerics.Reference, r.Numerics.Note = "cpu fp32", "the model has no fp64 path"
	})
	if text := resultLines(w.list[0].Result); !strings.Contains(text, "checked against cpu fp32: the model has no fp64 path") {
		t.Error(text)
	}
	if !strings.Contains(written(t, HTML, NewDocument(w.list, Options{})), "the model has no fp64 path") {
		t.Error("the page does not show it")
	}
}

func TestExpertsAndKernelsAreShown(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*cell.Result)
		want   string
		not    string
	}{
		"all used": {func(r *cell.Result) {
			r.Experts = &cell.Experts{Layers: 2, Experts: 4, Used: []int{4, 4}, UsedShare: 1}
		}, "experts 100 %", "fewer than two"},
		"one used": {func(r *cell.Result) {
			r.Experts = &cell.Experts{Layers: 2, Experts: 4, Used: []int{4, 1}, UsedShare: 0.625}
		}, "a layer used fewer than two of its experts", ""},
		"reference kernels": {func(r *cell.Result) {
			r.Kernels = map[string]string{"causal_conv1d_fn": "reference", "selective_scan_fn": "reference"}
		}, "reference kernels", "fast"},
		"fast kernels": {func(r *cell.Result) {
			r.Kernels = map[string]string{"a": "fast:mamba_ssm 2.2.4", "b": "reference", "c": "fast:mamba_ssm 2.2.4"}
		}, "kernels of mamba_ssm 2.2.4", "mamba_ssm 2.2.4, mamba_ssm"},
		"neither": {func(*cell.Result) {}, "", "experts"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &sweep{}
			w.put(subjects[0], gpu, "cpu", test.change)
			text := resultLines(w.list[0].Result)
			if !strings.Contains(text, test.want) || test.not != "" && strings.Contains(text, test.not) {
				t.Error(text)
			}
		})
	}
}

// TestWhatDidNotRunPassesNoTest: a verdict that no run stands behind is no passed
// test of a CI, and no line says of it that it works.
func TestWhatDidNotRunPassesNoTest(t *testing.T) {
	t.Parallel()
	w := &sweep{}
	w.put(subjects[0], cloud, "cpu")
	w.put(subjects[0], cloud, "mps", evidence(cell.Derived, "all operators have kernels"))
	w.put(subjects[1], cloud, "mps", evidence(cell.Compiled, ""), func(r *cell.Result) { r.Verdict = cell.Partial })
	var junit, results, log bytes.Buffer
	p, l := Both(JUnit(&junit), TextResults(&results)), NewProgress(&log, false, nil)
	for _, x := range w.list {
		p.Result(x.Result)
	}
	tell(l, progress.Finished(w.list[1].Result))
	if err := p.Done(Summary{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<testsuites name="assay" tests="3" failures="0" errors="0" skipped="2"`,
		`<skipped message="should work (derived): all operators have kernels">`, `<skipped message="should work partly (compiled)">`} {
		if !strings.Contains(junit.String(), want) {
			t.Errorf("%s is not in\n%s", want, junit.String())
		}
	}
	if text := results.String(); !strings.Contains(text, "3 results:  ✓ 1 works  ○ 1 should work  ◌ 1 should work partly") {
		t.Error(text)
	}
	if !strings.Contains(log.String(), "○ bert on mps: should work (") {
		t.Error(log.String())
	}
	var table strings.Builder
	matrixText(&table, NewDocument(w.list, Options{Hosts: []cell.Host{cloud}}))
	if faint := ink(cell.ShouldWork, "○ tiny drv"); !strings.Contains(table.String(), faint) || faint == ink(cell.Works, "○ tiny drv") {
		t.Errorf("the matrix has it in the colour of what works:\n%s", table.String())
	}
}
