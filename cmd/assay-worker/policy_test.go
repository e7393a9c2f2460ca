package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"assay/internal/confine"
)

// TestPolicy: tasks run within a policy, and one that cannot be meant is told.
func TestPolicy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("limits are Linux's")
	}
	w := newWorker(t)
	w.file(t, "plan.json", working)
	w.file(t, "good.json", `{"limits":{"memory":"4GB","time":"1m","file_size":"1GB"},"landlock":"use"}`)
	w.file(t, "wrong.json", `{"limits":{"memory":"plenty"}}`)
	w.file(t, "small.json", `{"limits":{"memory":"1MB"}}`)
	_, stderr, status := w.run(t, "run", "--plan", "plan.json", "--out", "out.jsonl", "--policy", "good.json")
	if status != 0 || !strings.Contains(stderr, "policy: a task's process allocates at most 4.0 GB") {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	if got := verdicts(t, filepath.Join(w.dir, "out.jsonl")); got != strings.Repeat("works, ", 2)+"end" {
		t.Errorf("the journal holds %q", got)
	}
	for args, says := range map[string]string{
		"--policy wrong.json":                    "plenty",
		"--policy small.json":                    "256 MB",
		"--policy nowhere.json":                  "nowhere.json",
		"--policy good.json --trust-remote-code": "does not allow a model's own code",
		"--policy good.json --allow-pickle":      "does not allow pickled weights",
	} {
		line := append([]string{"run", "--plan", "plan.json", "--out", "none.jsonl"}, strings.Fields(args)...)
		if _, stderr, status := w.run(t, line...); status != 2 || !strings.Contains(stderr, says) {
			t.Errorf("%s: status %d, want 2 and %q: %s", args, status, says, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "none.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was begun: %v", err)
	}
	if _, stderr, status := w.run(t, confine.Verb, "--", "/bin/true"); status != 1 || !strings.Contains(stderr, "for the worker itself") {
		t.Errorf("confined by hand: status %d: %s", status, stderr)
	}
}

// TestPoliciesOfDocs: every policy in the page about them can be read.
func TestPoliciesOfDocs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/confining.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(b, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no policy")
	}
	for _, m := range blocks {
		text := strings.ReplaceAll(string(m[1]), "/srv/models", t.TempDir())
		if _, err := confine.Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
