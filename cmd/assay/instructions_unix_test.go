//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDetectAsksTheProcessorAnew: what is known about the processor is kept, and
// forgotten by detect --fresh alone.
func TestDetectAsksTheProcessorAnew(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.on(t, announcesAMX)
	dir := t.TempDir()
	python, note := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "asked")
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in
*-c*) echo '{"path":"%s","version":"3.12.1","bits":64,"name":"CPython"}' ;;
*version) echo '{"versions":{"python":"3.12.1","torch":"2.15.0"},"missing":[]}' ;;
*instructions*) echo x >>%s
  echo '{"lowered":"AVX512_CORE_FP16","died":[{"engine":"torch","dtype":"bf16","level":"","signal":4}]}' ;;
*) exit 1 ;;
esac
`, python, note)
	if err := os.MkdirAll(filepath.Dir(python), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		more  []string
		asked int
	}{{nil, 1}, {nil, 1}, {[]string{"--fresh"}, 2}, {nil, 2}} {
		out, errs, status := p.run(t, append([]string{"--python", python, "detect", "--platform", "cpu"}, c.more...)...)
		text, err := os.ReadFile(note)
		if err != nil {
			t.Fatalf("status %d: %s%s: %v", status, out, errs, err)
		}
		if n := strings.Count(string(text), "x"); status != exitOK || n != c.asked {
			t.Errorf("command %d: status %d, asked %d times, want %d: %s%s", i, status, n, c.asked, out, errs)
		}
	}
}
