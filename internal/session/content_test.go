package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/hub/hubtest"
)

// TestContentFollowsTheFiles: what is edited under an unchanged path, size and
// time is another model; what lies beside it and does not matter is not.
func TestContentFollowsTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, b []byte) {
		t.Helper()
		path, old := filepath.Join(dir, name), time.Now().Add(-time.Hour)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	weights := hubtest.Safetensors(10, "w")
	put("config.json", []byte(`{"model_type":"bert","hidden_size":64}`))
	put("model.safetensors", weights)
	put("modeling_own.py", []byte("x = 1\n"))
	put("graph.onnx", []byte("graph"))
	put("graph.onnx.data", []byte("weights"))
	path := filepath.Join(dir, "config.json")
	cells := map[string]cell.Cell{
		"weights": {Type: "bert", Checkpoint: path, Size: cell.Full, Weights: dir},
		"shape":   {Type: "bert", Checkpoint: path, Size: cell.Full, Weights: cell.Random},
		"graph":   {Type: cell.ONNX, Checkpoint: filepath.Join(dir, "graph.onnx"), Size: cell.Full, Weights: dir, Target: "cpu/onnxruntime"},
		"known":   {Type: "bert"},
	}
	s := New(Options{})
	contents := func() map[string]string {
		out := map[string]string{}
		for name, c := range cells {
			digest, err := s.Content(t.Context(), c.Normal())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out[name] = digest
		}
		return out
	}
	before := contents()
	if before["known"] != "" || before["weights"] == "" || before["weights"] == before["shape"] {
		t.Fatalf("%v", before)
	}
	edited := append([]byte{}, weights...)
	edited[len(edited)-1]++
	for _, step := range []struct {
		name  string
		body  []byte
		other []string
	}{
		{"model.safetensors", edited, []string{"weights"}},
		{"config.json", []byte(`{"model_type":"bert","hidden_size":32}`), []string{"weights", "shape"}},
		{"modeling_own.py", []byte("x = 2\n"), []string{"weights", "shape"}},
		{"graph.onnx.data", []byte("Weights"), []string{"graph"}},
		{"README.md", []byte("something"), nil},
	} {
		put(step.name, step.body)
		after := contents()
		for name := range cells {
			changed := false
			for _, o := range step.other {
				changed = changed || o == name
			}
			if (after[name] != before[name]) != changed {
				t.Errorf("%s is edited: %s changed is %v", step.name, name, !changed)
			}
		}
		before = after
	}
}
