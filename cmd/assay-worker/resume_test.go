package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResume: a run that was cut short goes on in its file, and runs nothing twice.
func TestResume(t *testing.T) {
	t.Parallel()
	w := newWorker(t)
	w.file(t, "plan.json", working)
	w.file(t, "other.json", failing)
	path := filepath.Join(w.dir, "out.jsonl")
	resume := func(plan string) (string, int) {
		_, stderr, status := w.run(t, "run", "--plan", plan, "--out", "out.jsonl", "--workers", "1", "--resume")
		return stderr, status
	}
	if stderr, status := resume("plan.json"); status != 0 {
		t.Fatalf("where there is no file yet: status %d\n%s", status, stderr)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if stderr, status := resume("plan.json"); status != 0 || !strings.Contains(stderr, "2 of 2 cells already") {
		t.Errorf("a run that is complete: status %d\n%s", status, stderr)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	cut := append(bytes.Join(lines[:2], nil), lines[2][:len(lines[2])/2]...)
	if err := os.WriteFile(path, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	stderr, status := resume("plan.json")
	if status != 0 || !strings.Contains(stderr, "1 of 2 cells already") || !strings.Contains(stderr, "1/1 noop") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if got := verdicts(t, path); got != strings.Repeat("works, ", 2)+"end" {
		t.Errorf("the journal holds %q", got)
	}
	if stderr, status := resume("other.json"); status != 1 || !strings.Contains(stderr, "the plan is not the one") {
		t.Errorf("another plan: status %d\n%s", status, stderr)
	}
	if after, err := os.ReadFile(path); err != nil || bytes.Count(after, []byte("\n")) != bytes.Count(whole, []byte("\n")) {
		t.Errorf("the refused run changed the file: %v", err)
	}
}
