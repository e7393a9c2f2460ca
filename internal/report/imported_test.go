package report

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// Whoever reads a report in whatever form sees which squares and numbers nobody
// here saw happen.
func TestImportedIsMarkedEverywhere(t *testing.T) {
	t.Parallel()
	of := func(target string, imported bool) matrix.Observation {
		c := cell.Cell{Type: "bert", Family: "encoder-only", Target: target}.Normal()
		s := cell.SettingsOf(c)
		host := "abc"
		if imported {
			host = "imported:abc"
		}
		return matrix.Observation{Host: host, Imported: imported, Result: cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick,
			Requested: s, Actual: &s, Latency: &cell.Latency{Repeats: 1, N: 1, MedianMS: 1, Stable: true}}}
	}
	for _, metric := range []Metric{ByVerdict, ByLatency} {
		for f, marks := range map[Format][]string{
			Text:     {" imp", "imp was imported"},
			JSON:     {`"imported": true`},
			Markdown: {" imp ", "**imported**"},
			HTML:     {">imp<", "measured, imported", "it did not run here"},
			SVG:      {" imp<", "imp was imported"},
		} {
			if f == SVG && metric == ByVerdict {
				marks = append(marks, "measured, imported")
			}
			own := render(t, f, NewDocument([]matrix.Observation{of("cpu", false)}, Options{Metric: metric}))
			others := render(t, f, NewDocument([]matrix.Observation{of("cpu", false), of("cuda", true)}, Options{Metric: metric}))
			for _, mark := range marks {
				if !strings.Contains(others, mark) {
					t.Errorf("%s by %s does not say %q", f, metric, mark)
				}
				if strings.Contains(own, mark) {
					t.Errorf("%s by %s says %q of what ran here", f, metric, mark)
				}
			}
		}
	}
}

func render(t *testing.T, f Format, d Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A row of QNN says for which chip it was compiled, unless its target does.
func TestRowsNameTheChip(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{"qnn": true, "qnn:sm8650": false} {
		r := cell.Result{Cell: cell.Cell{Type: "bert", Target: target}.Normal(), Verdict: cell.Works, Evidence: cell.Emulated,
			Context: cell.Context{EngineSettings: map[string]string{"soc": "sm8650"}}}
		if got := strings.Contains(resultLines(r), "for sm8650"); got != want {
			t.Errorf("%s: %s", target, resultLines(r))
		}
	}
}
