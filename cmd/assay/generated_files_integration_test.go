//go:build integration

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"assay/internal/platform"
)

// TestIntegrationGeneratedFiles: every file that generate writes is Python, and
// ruff has nothing to say about its code or its layout.
func TestIntegrationGeneratedFiles(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir := t.TempDir()
	p.ok(t, "generate", "test", "--all", "--out", filepath.Join(dir, "all"))
	p.ok(t, "generate", "skill", "--key", "--out", filepath.Join(dir, "skills"))
	for _, n := range platform.Names() { // a file for one platform alone is whole, too
		p.ok(t, "generate", "test", "--representatives", "--platform", string(n), "--out", filepath.Join(dir, string(n)))
	}
	for _, check := range [][]string{
		{"-m", "compileall", "-q", dir},
		{"-m", "ruff", "check", "--isolated", "--no-cache", "--output-format", "concise", dir},
		{"-m", "ruff", "format", "--isolated", "--no-cache", "--check", dir},
	} {
		if out, err := exec.CommandContext(t.Context(), python, check...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%.2000s", check[:3], err, out)
		}
	}
}
