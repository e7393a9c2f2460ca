package main

import (
	"context"
	"strings"
	"testing"
)

// TestTuneUsage: what cannot be asked is said before anything is started.
func TestTuneUsage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for line, want := range map[string]string{
		"tune":                                              "give --web",
		"tune --web --repeats 0":                            "must be at least 1",
		"tune --web --platform cuda":                        "cuda does not run in a browser",
		"tune --web --platform cpu":                         "cpu does not run in a browser",
		"test bert --platform cpu --warm":                   "leave --warm out",
		"test bert --platform cpu --front-end page":         "leave --front-end out",
		"test whisper --platform webgpu --front-end kernel": "none, page",
	} {
		e, out := inside()
		e.getenv = func(name string) string { return map[string]string{"ASSAY_HOME": home, "ASSAY_OFFLINE": "1"}[name] }
		if status := run(context.Background(), e, strings.Fields(line)); status != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%s: status %d, %q; want %q", line, status, out, want)
		}
	}
}
