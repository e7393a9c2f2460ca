package main

import (
	"context"
	"testing"
)

// BenchmarkCanIUse is the whole command, without the start of a process: together
// they are to stay below 50 ms. The embedded atlas is opened once and then kept, so only
// the first round reads it; see BenchmarkOpen of internal/atlas for that.
func BenchmarkCanIUse(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		e, out := inside()
		e.getenv = func(name string) string { return map[string]string{"ASSAY_HOME": dir}[name] }
		if status := run(context.Background(), e, []string{"can-i-use", "xclip", "bert-base-uncased"}); status != exitOK {
			b.Fatalf("status %d\n%s", status, out)
		}
	}
}
