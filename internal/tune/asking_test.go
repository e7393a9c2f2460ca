package tune

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/exports"
	"assay/internal/pages"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestSettle: which questions are asked.
func TestSettle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked  Questions
		models []string
		want   Questions
	}{
		"nothing named":    {Questions{}, nil, Questions{Kernels: true}},
		"a model":          {Questions{}, []string{"bert"}, Questions{Warm: true, Load: true}},
		"one question":     {Questions{Load: true}, []string{"clip"}, Questions{Load: true}},
		"kernels and warm": {Questions{Kernels: true, Warm: true}, nil, Questions{Kernels: true, Warm: true}},
	} {
		if got := tc.asked.Settle(tc.models); got != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	kernels := Questions{Kernels: true}
	for _, tc := range []struct {
		asked Questions
		names string
		want  string // of the error, or the targets
	}{
		{kernels, "webgpu,webnn", "webgpu,webnn"},
		{kernels, "webnn", "only webgpu has kernels to tune"},
		{Questions{Warm: true}, "webnn,cpu/wasm", "webnn,cpu/wasm"},
		{kernels, "webgpu@netscape", `unknown browser "netscape"`},
		{kernels, "cuda", "cuda does not run in a browser"},
		{kernels, "cpu", "cpu does not run in a browser"},
		{kernels, "abacus", "unknown platform"},
	} {
		targets, err := tc.asked.Targets(strings.Split(tc.names, ","))
		if got := strings.Join(texts(targets), ","); got != tc.want && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %s, %v; want %s", tc.names, got, err, tc.want)
		}
	}
}

func texts(targets []platform.Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.String())
	}
	return out
}

// TestAskAll: each question is asked on its own target, a refused one costs no
// page, and what was answered before an end is kept.
func TestAskAll(t *testing.T) {
	t.Parallel()
	nn := platform.Target{Platform: platform.WebNN}.Normal()
	questions := []Question{
		{What: WarmStart, Model: "bert", Target: gpu, Refused: "it fails there"},
		{What: ParallelLoad, Model: "clip", Target: nn, Refused: "it has no parts"},
	}
	bench := scriptedBench(t, 1, func(c pages.Call) (any, error) {
		if c.Op != "adapter" {
			return nil, errors.New("nothing else is asked of a page")
		}
		return map[string]any{}, nil
	})
	got, err := bench.AskAll(t.Context(), []platform.Target{gpu, nn}, questions, nil)
	if err != nil || len(got.Rows) != 2 || len(got.Settings) != 2 || !got.Refused() {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.Rows[0].Target != "webgpu" || got.Rows[1].Target != "webnn" || got.Rows[0].Evidence != "emulated" {
		t.Errorf("%+v", got.Rows)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	bench.Say = func(string) { stop(errors.New("stopped")) }
	got, err = bench.AskAll(stopped, []platform.Target{gpu, nn}, questions, nil)
	if err == nil || len(got.Rows) != 1 {
		t.Errorf("stopped on the first target: %+v, %v", got, err)
	}
}

// TestLayout: a page is given graphs and weights, and no part another's.
func TestLayout(t *testing.T) {
	t.Parallel()
	l := Layout{exports.Cache{Dir: t.TempDir()}, t.TempDir()}
	none, whole := strings.Repeat("a", 32), strings.Repeat("b", 32)
	store(t, l.Cache, none, "notes.json")
	store(t, l.Cache, whole, "model.onnx", "model.onnx.data", "inputs.npz", "text.onnx", "text.onnx.data")
	at := func(names ...string) map[string]string {
		out := map[string]string{}
		for _, name := range names {
			out[name] = filepath.Join(l.Folder, whole, name)
		}
		return out
	}
	got, err := l.Whole("bert", none, whole)
	want := []Graph{{Name: "bert", File: "model.onnx", Files: at("model.onnx", "model.onnx.data", "text.onnx", "text.onnx.data")}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	got, err = l.Parts(whole, []Part{{"text", "text.onnx"}})
	want = []Graph{{Name: "text", File: "text.onnx", Files: at("text.onnx", "text.onnx.data")}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if _, err := l.Whole("bert", none); err == nil || !strings.Contains(err.Error(), "graph of bert is no longer in the cache") {
		t.Errorf("%v", err)
	}
}

// store puts an entry into the cache, as a runner does.
func store(t *testing.T, c exports.Cache, key string, names ...string) {
	t.Helper()
	dir := filepath.Join(c.Dir, key[:2], key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for _, name := range names {
		files[name] = 1
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(map[string]any{"schema": 1, "key": key, "kind": "onnx", "made_at": 1700000000, "files": files})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, exports.ManifestName), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
