package detect

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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
	if len(r.Only().Platforms) != 8 {
		t.Error("no names must mean all platforms")
	}
}
