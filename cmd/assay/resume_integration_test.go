//go:build integration

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationResume: what is finished is not run again; weights that were
// edited in place, with their size and time as before, are.
func TestIntegrationResume(t *testing.T) {
	t.Parallel()
	p, interpreter := withTorch(t)
	folder := filepath.Join(saved(t, p, interpreter), "whole")
	weights := filepath.Join(folder, "model.safetensors")
	// An input size that the model does not have is dropped: the result is of a different cell from the requested one.
	args := []string{"matrix", folder, "--weights", folder, "--platform", "cpu", "--image", "64", "--resume"}
	ran := func() bool {
		t.Helper()
		_, stderr, status := p.run(t, args...)
		if status != exitOK {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		return !strings.Contains(stderr, "everything asked for is in the store already")
	}
	if !ran() {
		t.Fatal("nothing was run")
	}
	if ran() {
		t.Error("it was run again though nothing changed")
	}
	info, err := os.Stat(weights)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1 // of the last number's exponent or mantissa: still a number
	if err := os.WriteFile(weights, b, info.Mode()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(weights, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if !ran() {
		t.Error("edited weights count as done")
	}
}
