package detect

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assay/internal/platform"
)

func printed(t *testing.T, machine string, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, detectCaptured(t, filepath.Join(machinesDir, machine)), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextPlain(t *testing.T) {
	t.Parallel()
	for _, machine := range machines(t) {
		out := printed(t, machine, TextOptions{Width: 72, Evidence: true})
		for _, r := range out {
			if r > 126 {
				t.Errorf("%s: plain text holds %q", machine, r)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s: plain text holds colours", machine)
		}
	}
	if out := printed(t, "h200", TextOptions{}); !strings.Contains(out, "\n+ cuda ") || !strings.Contains(out, "\n- rocm ") {
		t.Errorf("the plain marks are missing:\n%s", out)
	}
}

func TestTextWidth(t *testing.T) {
	t.Parallel()
	const width = 60
	for line := range strings.Lines(printed(t, "mi300x", TextOptions{Width: width, UTF8: true, Evidence: true})) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		if utf8.RuneCountInString(line) > width && len(words) > 1 {
			t.Errorf("a line is wider than %d: %q", width, line)
		}
	}
}

func TestTextColour(t *testing.T) {
	t.Parallel()
	if out := printed(t, "h200", TextOptions{Colour: true, UTF8: true}); !strings.Contains(out, "\x1b[32m✓\x1b[0m cuda") {
		t.Errorf("no coloured mark in\n%s", out)
	}
}

func TestUTF8Locale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"LANG": "en_US.UTF-8"}, true}, {map[string]string{"LANG": "C"}, false}, {nil, false},
		{map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, false}, {map[string]string{"LC_ALL": "", "LANG": "C.utf8"}, true},
	}
	for _, tt := range tests {
		if got := UTF8Locale(lookup(tt.env)); got != tt.want {
			t.Errorf("%v: %t", tt.env, got)
		}
	}
}

// TestLookIsQuick leaves wide room: it takes some 5 ms, and 300 ms is the bar.
func TestLookIsQuick(t *testing.T) {
	best := time.Hour
	for range 3 {
		start := time.Now()
		Look(Live())
		best = min(best, time.Since(start))
	}
	if best > 300*time.Millisecond {
		t.Errorf("the first pass took %s", best)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	r := detectCaptured(t, filepath.Join(machinesDir, "h200"))
	if got := r.Only("rocm", "cpu"); len(got.Platforms) != 2 || got.Platforms[0].Platform != "cpu" {
		t.Errorf("got %v", got.Platforms)
	}
	if len(r.Only().Platforms) != len(platform.Names()) {
		t.Error("no names must mean all platforms")
	}
}

func TestOnlyKeepsWhatBelongs(t *testing.T) {
	t.Parallel()
	r := detectCaptured(t, filepath.Join(machinesDir, "intel-laptop"))
	narrow, web, all := r.Only("cpu", "cuda"), r.Only("webgpu"), r.Only(platform.Names()...)
	if len(r.Browsers) == 0 || narrow.Browsers == nil || len(narrow.Browsers) != 0 || len(web.Browsers) != len(r.Browsers) {
		t.Errorf("browsers %v of %v", narrow.Browsers, r.Browsers)
	}
	if diff := cmp.Diff(r, all); diff != "" {
		t.Errorf("all platforms by name are not the whole report (-want +got):\n%s", diff)
	}
	if !cmp.Equal(narrow.Host, r.Host) {
		t.Error("the host is gone")
	}
}

func TestTextNarrowed(t *testing.T) {
	t.Parallel()
	text := func(r Report) string {
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{UTF8: true}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	laptop := detectCaptured(t, filepath.Join(machinesDir, "intel-laptop"))
	laptop.Environment = map[string]string{"OMP_NUM_THREADS": "4", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "TPU_VISIBLE_CHIPS": "0"}
	cuda, whole := text(laptop.Only("cuda")), text(laptop)
	for _, part := range []string{"sse4.2", "other accelerators", "browsers", "OMP_NUM_THREADS", "TPU_VISIBLE_CHIPS"} {
		if strings.Contains(cuda, part) || !strings.Contains(whole, part) {
			t.Errorf("%s belongs to the whole report alone:\n%s", part, cuda)
		}
	}
	if !strings.Contains(cuda, "CUDA_DEVICE_ORDER=PCI_BUS_ID") {
		t.Errorf("CUDA's own variable is missing:\n%s", cuda)
	}
}

func TestTextNamesAVariableOnce(t *testing.T) {
	t.Parallel()
	tests := []struct{ machine, variable, value string }{
		{"mi300x", "HIP_VISIBLE_DEVICES", "1"}, {"h200", "CUDA_VISIBLE_DEVICES", "0"}, {"epyc-vm", "CUDA_VISIBLE_DEVICES", "0"},
		{"empty", "CUDA_VISIBLE_DEVICES", "0"}, {"h200", "CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
	}
	for _, tt := range tests {
		m, answers, err := Open(filepath.Join(machinesDir, tt.machine))
		if err != nil {
			t.Fatal(err)
		}
		m.Env = lookup(map[string]string{tt.variable: tt.value})
		var b bytes.Buffer
		if err := Text(&b, Judge(Look(m), answers), TextOptions{Evidence: true}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), tt.variable+"="); n != 1 {
			t.Errorf("%s: %s appears %d times:\n%s", tt.machine, tt.variable, n, b.String())
		}
	}
}

func TestTextSeen(t *testing.T) {
	t.Parallel()
	if out := printed(t, "amd-laptop", TextOptions{UTF8: true}); !strings.Contains(out, "\n○ rocm      seen ") || !strings.Contains(out, "\n✗ cuda      absent ") {
		t.Errorf("what is there is not told from what is not:\n%s", out)
	}
	if out := printed(t, "amd-laptop", TextOptions{}); !strings.Contains(out, "\no rocm      seen ") {
		t.Errorf("the plain mark is missing:\n%s", out)
	}
}
