package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportsLimit: the worker keeps its cache of exported models within what
// the environment says.
func TestExportsLimit(t *testing.T) {
	t.Parallel()
	for limit, kept := range map[string]bool{"": true, "1GB": true, "10B": false, "0": false} {
		w := newWorker(t)
		w.environ = append(w.environ, "ASSAY_EXPORTS_LIMIT="+limit)
		key := strings.Repeat("0", 32)
		entry := filepath.Join(w.dir, "home", "cache", "exports", key[:2], key)
		if err := os.MkdirAll(entry, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"model.onnx":    strings.Repeat("x", 100),
			"manifest.json": `{"schema":1,"key":"` + key + `","kind":"onnx","made_at":1700000000,"files":{"model.onnx":100}}`,
		} {
			if err := os.WriteFile(filepath.Join(entry, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path, err := python()
		if err != nil {
			t.Fatal(err)
		}
		// A plan that uses the cache, for a device that no machine without ONNX Runtime's CUDA has.
		plan := w.file(t, "plan.json", `{"no_fallback":true,"cells":[{"type":"bert","target":"cuda/onnxruntime"}]}`)
		if _, stderr, status := w.run(t, "run", "--plan", plan, "--out", "out.jsonl", "--python", path); status != 0 {
			t.Fatalf("%q: status %d: %s", limit, status, stderr)
		}
		if _, err := os.Stat(entry); (err == nil) != kept {
			t.Errorf("%q: the entry is there: %v", limit, err == nil)
		}
	}
	w := newWorker(t)
	w.environ = append(w.environ, "ASSAY_EXPORTS_LIMIT=plenty")
	plan := w.file(t, "plan.json", `{"cells":[{"type":"noop","engine":"noop"}]}`)
	if _, stderr, status := w.run(t, "run", "--plan", plan, "--out", "out.jsonl"); status != 2 || !strings.Contains(stderr, "ASSAY_EXPORTS_LIMIT") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
