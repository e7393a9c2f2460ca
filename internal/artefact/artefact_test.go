package artefact

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/exports"

	"github.com/google/go-cmp/cmp"
)

// The keys of a graph and of what an engine made of it.
var graphKey, engineKey = strings.Repeat("a", 32), strings.Repeat("b", 32)

// cache is a cache of exported models with two entries.
func cache(t *testing.T, engineFiles ...string) exports.Cache {
	t.Helper()
	c := exports.Cache{Dir: t.TempDir()}
	entry(t, c, graphKey, "onnx", "model.onnx", "model.onnx.data", "inputs.npz", "reference.npz", "control.npz")
	entry(t, c, engineKey, "other", engineFiles...)
	return c
}

func entry(t *testing.T, c exports.Cache, key, kind string, names ...string) {
	t.Helper()
	dir := filepath.Join(c.Dir, key[:2], key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for _, name := range names {
		files[name] = len(kind)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(kind), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(map[string]any{"schema": 1, "key": key, "kind": kind, "made_at": 1700000000, "files": files})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, exports.ManifestName), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func format(t *testing.T, name string) Format {
	t.Helper()
	f, err := ParseFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func result(verdict cell.Verdict, prepared string) cell.Result {
	return cell.Result{
		Cell: cell.Cell{Type: "bert", Batch: 2, Seq: 8}.Normal(), Verdict: verdict, Evidence: cell.Emulated,
		Export: &cell.Exported{Key: graphKey, Prepared: prepared},
	}
}

// TestWriteAll: a folder holds what the engine reads and what a check elsewhere
// needs, and nothing that was there before.
func TestWriteAll(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format, prepared string
		engine, want     []string
	}{
		"the graph itself":                {"onnx", graphKey, nil, []string{"check.json", "control.npz", "inputs.npz", "manifest.json", "model.onnx", "model.onnx.data", "reference.npz"}},
		"what an engine made":             {"openvino", engineKey, []string{"model.xml"}, []string{"check.json", "inputs.npz", "manifest.json", "model.xml", "reference.npz"}},
		"a page reads the graph itself":   {"web", engineKey, []string{"notes.json"}, []string{"check.json", "inputs.npz", "manifest.json", "model.onnx", "model.onnx.data", "notes.json", "reference.npz"}},
		"a page reads a graph of its own": {"web", engineKey, []string{"model.onnx"}, []string{"check.json", "inputs.npz", "manifest.json", "model.onnx", "reference.npz"}},
	} {
		w := Writer{Out: t.TempDir(), Format: format(t, tc.format), Cache: cache(t, tc.engine...)}
		folder := filepath.Join(w.Out, "bert-"+tc.format+"-fp32-b2-s8")
		if err := os.MkdirAll(filepath.Join(folder, "old"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := w.WriteAll([]cell.Result{result(cell.Fails, tc.prepared), result(cell.Partial, tc.prepared), {Verdict: cell.Works}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []Artefact{{"bert", tc.format, "fp32", folder, tc.want, cell.Partial, cell.Emulated, w.Format.run}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var there []string
		found, err := os.ReadDir(folder)
		for _, f := range found {
			there = append(there, f.Name())
		}
		if diff := cmp.Diff(tc.want, there); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
		var check cell.Result
		if b, err := os.ReadFile(filepath.Join(folder, "check.json")); err != nil || json.Unmarshal(b, &check) != nil || check.Verdict != cell.Partial {
			t.Errorf("%s: the check is %s, %v", name, b, err)
		}
	}
}

// TestOccupied: what a user has is written over only when he says so.
func TestOccupied(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "bert", Checkpoint: "google-bert/bert-base-uncased", Image: 64}.Normal()
	w := Writer{Out: t.TempDir(), Format: format(t, "onnx"), Cache: cache(t)}
	if err := w.CheckFree([]cell.Cell{c}); err != nil {
		t.Error(err)
	}
	folder := filepath.Join(w.Out, "google-bert--bert-base-uncased-onnx-fp32-i64")
	if err := os.MkdirAll(filepath.Join(folder, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	var occupied *OccupiedError
	if err := w.CheckFree([]cell.Cell{c}); !errors.As(err, &occupied) || occupied.Folder != folder {
		t.Errorf("%v", err)
	}
	first, err := w.WriteParts(c, graphKey)
	if err != nil || filepath.Base(first) != "google-bert--bert-base-uncased-onnx-parts" {
		t.Errorf("%s, %v", first, err)
	}
	if _, err := w.WriteParts(c, graphKey); !errors.As(err, &occupied) {
		t.Errorf("parts are written over: %v", err)
	}
	w.Force = true
	_, err = w.WriteParts(c, graphKey)
	if err := errors.Join(err, w.CheckFree([]cell.Cell{c})); err != nil {
		t.Error(err)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ format, device, want string }{
		{"onnx", "", "cpu/onnxruntime"},
		{"openvino", "NPU", "openvino:NPU"},
		{"qnn", "sm8650", "qnn:sm8650"},
		{"coreml", "", "mps/coreml"},
		{"web", "GPU", "--device cannot be used with web"},
	} {
		got, err := format(t, tc.format).Target(tc.device)
		if got != tc.want && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s, %q: %s, %v", tc.format, tc.device, got, err)
		}
	}
	if _, err := ParseFormat("tflite"); err == nil || !strings.Contains(err.Error(), "the formats are onnx, openvino, qnn, web, coreml") {
		t.Errorf("%v", err)
	}
	r := cell.Result{Context: cell.Context{EngineSettings: map[string]string{"snippets_mode": "DISABLE"}}}
	if got := format(t, "openvino").Usage(r); !strings.HasSuffix(got, `"CPU", {"SNIPPETS_MODE": "DISABLE"})`) {
		t.Error(got)
	}
}
