package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/trend"
)

// history is of so many runs, the last few slower by a share, each with a torch of its own there.
func history(runs, slower int, by float64) []compare.Entry {
	var out []compare.Entry
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := range runs {
		ms, torch := 10+0.02*float64(i%3), "2.14.0"
		if i >= runs-slower {
			ms, torch = ms*(1+by), "<2.15.0>"
		}
		r := &cell.Result{Cell: cell.Cell{Type: "bert"}.Normal(), SubjectHash: "s", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Thorough,
			StartedAt: at.AddDate(0, 0, i), Latency: &cell.Latency{SamplesMS: [][]float64{{ms}, {ms}, {ms}}, Stable: i != 4}, Context: cell.Context{Versions: map[string]string{"torch": torch}}}
		out = append(out, compare.Entry{Result: r, Run: fmt.Sprintf("run%02d", i), Host: cell.Host{ID: "h"}})
	}
	return out
}

// TestPlots: a step is drawn between its two runs with what changed there, a flat
// history has none, and two runs are no history.
func TestPlots(t *testing.T) {
	t.Parallel()
	drawn := plots(trend.Of(history(12, 5, 0.10)))
	if len(drawn) != 1 || len(drawn[0].Dots) != 12 || len(drawn[0].Steps) != 1 || len(drawn[0].Levels) != 2 {
		t.Fatalf("%+v", drawn)
	}
	p := drawn[0]
	if p.Steps[0].X <= p.Dots[6].X || p.Steps[0].X >= p.Dots[7].X || p.Steps[0].By != "+10.0 %" {
		t.Errorf("the step is at %s, by %s: it should lie between %s and %s", p.Steps[0].X, p.Steps[0].By, p.Dots[6].X, p.Dots[7].X)
	}
	if !strings.Contains(p.Steps[0].Text, "between run06 (2026-11-07 00:00) and run07 (2026-11-08 00:00): torch 2.14.0 → <2.15.0>") {
		t.Error(p.Steps[0].Text)
	}
	if !strings.HasSuffix(p.Label, ", 1 step") {
		t.Error(p.Label)
	}
	for i, d := range p.Dots {
		if d.Unstable != (i == 4) || strings.HasSuffix(d.Tip, " ~") != d.Unstable {
			t.Errorf("dot %d: %+v", i, d)
		}
	}
	flat := plots(trend.Of(history(12, 0, 0)))
	if len(flat) != 1 || len(flat[0].Steps)+len(flat[0].Levels) != 0 {
		t.Fatalf("%+v", flat)
	}
	if flat[0].Most != "10.5 ms" || flat[0].Least != "9.52 ms" {
		t.Errorf("roundings of 0.4 %% fill a plot from %s to %s", flat[0].Least, flat[0].Most)
	}
	if short := plots(trend.Of(history(2, 0, 0))); short != nil {
		t.Errorf("%+v", short)
	}
}

// TestPlotsOnPage: the page has the plots, and what versions are called is text there.
func TestPlotsOnPage(t *testing.T) {
	t.Parallel()
	var with, without bytes.Buffer
	for out, list := range map[*bytes.Buffer][]trend.Series{&with: trend.Of(history(12, 5, 0.10)), &without: nil} {
		if err := Write(out, HTML, NewDocument(nil, Options{Trends: list})); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`<a href="#trends">`, `class="step"`, "<polyline points=", "&lt;2.15.0&gt;"} {
		if !strings.Contains(with.String(), want) || strings.Contains(without.String(), want) {
			t.Errorf("%s: it should be on a page with histories, and only there", want)
		}
	}
}
