//go:build integration

package main

import (
	"strings"
	"testing"
)

// TestIntegrationByFile: results of this machine and of an H200, which came by file, stand in one matrix.
func TestIntegrationByFile(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	matrix := byFile(t, p, true)
	for _, want := range []string{"✓ tiny a", "✓ tiny imp", "imported:64029ab473d62153", "NVIDIA H200", "2 hosts"} {
		if !strings.Contains(matrix, want) {
			t.Errorf("the matrix lacks %q:\n%s", want, matrix)
		}
	}
}
