//go:build integration

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
)

// TestIntegrationLaws: laws reach the runner, what they find reaches the result,
// the printed lines and the scripts, and no answer of a locked release is new.
func TestIntegrationLaws(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	found := filepath.Join(t.TempDir(), "found")
	results := p.report(t, exitOK, "test", "--laws", "--repro", found, "bert", "aimv2", "--platform", "cpu").Results
	if len(results) != 2 {
		t.Fatal(results)
	}
	for _, r := range results {
		if r.Verdict != cell.Works || len(r.Laws) != 8 || r.Fingerprint == nil || r.Changed != nil {
			t.Errorf("%s: %s, %d laws, fingerprint %v, %+v", r.Cell.Type, r.Verdict, len(r.Laws), r.Fingerprint != nil, r.Changed)
		}
		script := filepath.Join(found, r.Cell.Type+"-attention.py")
		b, err := os.ReadFile(script)
		switch broken := len(r.Broken()) > 0; {
		case broken != (r.Cell.Type == "aimv2"): // docs/findings.md
			t.Errorf("%s breaks %+v", r.Cell.Type, r.Broken())
		case broken && (err != nil || strings.Count(string(b), "\n") > 20 || strings.Contains(string(b), "assay")):
			t.Errorf("%s: %v\n%s", script, err, b)
		case broken && !strings.Contains(r.Note, "breaks the law of attention"):
			t.Errorf("the note is %q", r.Note)
		case !broken && err == nil:
			t.Errorf("%s was written, and nothing is broken", script)
		}
	}
}
