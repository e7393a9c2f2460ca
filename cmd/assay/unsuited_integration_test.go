//go:build integration

package main

import (
	"strings"
	"testing"

	"assay/internal/cell"
)

// TestIntegrationUnsuited: what a model cannot have is wrong usage where nothing
// else was asked for, and nothing is said to have been measured of it.
func TestIntegrationUnsuited(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	for _, tc := range []struct{ args, says string }{
		{"test bert --platform cpu --mode generate", "BertForMaskedLM generates no text"},
		{"bench --quick bert --platform openvino --mode generate", "BertForMaskedLM generates no text"},
		{"test bert --platform webnn --front-end page", "bert has no front end here"},
	} {
		r := p.report(t, exitUsage, strings.Fields(tc.args)...).Results[0]
		if r.Verdict != cell.Unavailable || r.Evidence != cell.None || r.Latency != nil || !strings.Contains(r.Note, tc.says) {
			t.Errorf("%s: %s, %s: %s %+v", tc.args, r.Verdict, r.Evidence, r.Note, r.Failure)
		}
	}
	both := p.report(t, exitOK, "test", "bert", "gpt2", "--platform", "cpu", "--mode", "generate").Results
	if len(both) != 2 || both[0].Verdict != cell.Unavailable && both[1].Verdict != cell.Unavailable {
		t.Errorf("one that writes beside one that does not: %+v", both)
	}
}
