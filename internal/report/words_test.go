package report

import (
	"strings"
	"testing"

	"assay/internal/cell"
)

// A reason is told once: a fallback says where it went, under a failure that
// says why.
func TestAReasonIsToldOnce(t *testing.T) {
	t.Parallel()
	f := &cell.Failure{Class: cell.Export, Detail: "no graph", Hint: "Mend it."}
	r := cell.Result{Cell: cell.Cell{Type: "udop", Target: "webnn"}.Normal(), Verdict: cell.Fails, Evidence: cell.Measured, Failure: f,
		Fallback: &cell.Fallback{To: "cpu/wasm", Reason: "export: no graph"}}
	text := resultLines(r)
	if strings.Count(text, "no graph") != 1 || !strings.Contains(text, "falls back to cpu/wasm\n") {
		t.Error(text)
	}
	r.Failure = nil
	if text := resultLines(r); !strings.Contains(text, "falls back to cpu/wasm: export: no graph") {
		t.Error(text)
	}
}

// What a browser held is told in text as in JSON, under its own name.
func TestMemoryOfABrowser(t *testing.T) {
	t.Parallel()
	peak, base := int64(200e6), int64(50e6)
	for _, tc := range []struct {
		target string
		memory cell.Memory
		want   string
	}{
		{"webnn", cell.Memory{HostPeakBytes: &peak}, "peak 200 MB browser"},
		{"cpu/wasm@firefox", cell.Memory{HostPeakBytes: &peak}, "peak 200 MB browser"},
		{"cpu", cell.Memory{HostPeakBytes: &peak, HostBaselineBytes: &base}, "peak 150 MB host"},
		{"cpu", cell.Memory{HostPeakBytes: &peak}, ""},
		{"webnn", cell.Memory{}, ""},
	} {
		r := cell.Result{Cell: cell.Cell{Type: "bert", Target: tc.target}.Normal(), Memory: &tc.memory}
		if got := strings.Join(facts(r), " "); got != tc.want {
			t.Errorf("%s with %+v: %q, want %q", tc.target, tc.memory, got, tc.want)
		}
	}
	if got := grown(cell.Memory{HostPeakBytes: &peak}); got != "200 MB browser" {
		t.Errorf("in a report: %q", got)
	}
}

// Every printer has a column for what ran in a browser's processor, where
// somebody tried it, and none where nobody did.
func TestWasmHasAColumn(t *testing.T) {
	t.Parallel()
	names := map[Format]string{Text: "cpu/wasm", Markdown: "cpu/wasm", HTML: "WebAssembly (browser)", SVG: "WebAssembly", JSON: `"cpu/wasm"`}
	for _, tried := range []bool{false, true} {
		w := &sweep{}
		w.put(subjects[0], gpu, "cpu", bench(20, 6))
		if tried {
			w.put(subjects[0], gpu, "cpu/wasm", bench(30, 6))
		}
		d := NewDocument(w.list, Options{Hosts: []cell.Host{gpu}})
		for format, name := range names {
			if text := written(t, format, d); strings.Contains(text, name) != tried {
				t.Errorf("%s, tried %t:\n%s", format, tried, text)
			}
		}
	}
}
