package questions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/exports"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/session"
	"assay/internal/tune"
)

const key = "00000000000000000000000000000001"

// maker is one for two targets, with an entry in its cache.
func maker(t *testing.T) Maker {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	cache := exports.Cache{Dir: t.TempDir()}
	entry := filepath.Join(cache.Dir, key[:2], key)
	if err := os.MkdirAll(entry, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		exports.ManifestName: `{"schema":1,"key":"` + key + `","kind":"onnx","type":"clip","files":{"model.onnx":1,"text.onnx":1,"vision.onnx":1}}`,
		"model.onnx":         "x", "text.onnx": "x", "vision.onnx": "x",
	} {
		if err := os.WriteFile(filepath.Join(entry, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Maker{
		Planner: &plan.Planner{Catalog: cat, Say: func(string) {}},
		Targets: []platform.Target{platform.Target{Platform: platform.WebNN}.Normal(), platform.Target{Platform: platform.CPU, Engine: platform.Wasm}.Normal()},
		Layout:  tune.Layout{Cache: cache, Folder: t.TempDir()},
	}
}

// TestWarm: a model is run on every target, never elsewhere; what does not work
// there is a question that says why.
func TestWarm(t *testing.T) {
	t.Parallel()
	m := maker(t)
	m.Run = func(_ context.Context, p cell.Plan) ([]cell.Result, error) {
		if len(p.Cells) != 2 || !p.NoFallback || p.Cells[0].Type != tune.WarmModel {
			t.Errorf("the plan is %+v", p)
		}
		return []cell.Result{
			{Cell: p.Cells[0], Verdict: cell.Works, Export: &cell.Exported{Prepared: key, Key: key}},
			{Cell: p.Cells[1], Verdict: cell.Fails, Failure: &cell.Failure{Class: cell.Export, Detail: "no operator"}},
		}, nil
	}
	got, err := m.Make(t.Context(), tune.Questions{Warm: true}, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if q := got[0]; q.What != tune.WarmStart || q.Refused != "" || len(q.Graphs) != 1 || q.Target != m.Targets[0] {
		t.Errorf("%+v", q)
	}
	if q := got[1]; !strings.Contains(q.Refused, "fails there") || !strings.Contains(q.Refused, "no operator") || q.Graphs != nil {
		t.Errorf("%+v", q)
	}
}

// TestLoad: a model's good parts are asked about on every target; what cannot be
// exported is refused on each.
func TestLoad(t *testing.T) {
	t.Parallel()
	m := maker(t)
	right, wrong := &cell.ExportCheck{Pass: true}, &cell.ExportCheck{}
	m.Parts = func(_ context.Context, c cell.Cell) (session.Parts, error) {
		if c.Type == "bert" {
			return session.Parts{}, errors.New("it has no parts")
		}
		return session.Parts{Key: key, Parts: []session.Part{
			{Name: "text", File: "text.onnx", Check: right}, {Name: "vision", File: "vision.onnx", Check: right}, {Name: "other", File: "model.onnx", Check: wrong},
		}}, nil
	}
	got, err := m.Make(t.Context(), tune.Questions{Load: true}, []string{"clip", "bert"})
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, q := range got {
		if q.What != tune.ParallelLoad || q.Target != m.Targets[i%2] {
			t.Errorf("%+v", q)
		}
		if i < 2 && (len(q.Graphs) != 2 || q.Refused != "") || i >= 2 && q.Refused != "it has no parts" {
			t.Errorf("%+v", q)
		}
	}
}

// TestNothingAsked: kernels are no question about models.
func TestNothingAsked(t *testing.T) {
	t.Parallel()
	if got, err := maker(t).Make(t.Context(), tune.Questions{Kernels: true}, []string{"bert"}); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
