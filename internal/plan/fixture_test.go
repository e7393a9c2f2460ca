package plan

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/hub"
	"assay/internal/hub/hubtest"
	"assay/internal/platform"
)

// fixed is a machine that was captured, with browsers whose adapter is a GPU or
// not.
type fixed struct {
	report   detect.Report
	software bool
}

func (m fixed) Report(context.Context) (detect.Report, error) { return m.report, nil }

func (m fixed) EmulatedInBrowser(_ context.Context, t platform.Target) (bool, error) {
	return m.software && t.Platform == platform.WebGPU, nil
}

func captured(t testing.TB, name string) fixed {
	t.Helper()
	r, err := detect.Captured(filepath.Join("../detect/testdata/machines", name))
	if err != nil {
		t.Fatal(err)
	}
	return fixed{report: r}
}

// shelf is a Hub whose cache holds some models, and whose server holds others.
type shelf struct {
	cached, published map[string]string // model → its folder
}

func (s shelf) Cached(r hub.Ref, _ hub.Want) (hub.Snapshot, error) {
	if folder, ok := s.cached[r.Model]; ok {
		return hub.Snapshot{Folder: folder}, nil
	}
	return hub.Snapshot{}, &hub.Error{Kind: hub.Offline, Problem: r.Model + " is not in the cache"}
}

func (s shelf) Fetch(_ context.Context, r hub.Ref, _ hub.Want) (hub.Snapshot, error) {
	if folder, ok := s.published[r.Model]; ok {
		return hub.Snapshot{Folder: folder}, nil
	}
	return hub.Snapshot{}, &hub.Error{Kind: hub.NotFound, Problem: r.Model + " is not on the Hub"}
}

// planner is one for a machine, with an empty cache, and what it says.
func planner(t testing.TB, m Machine) (*Planner, *[]string) {
	t.Helper()
	said := &[]string{}
	return &Planner{
		Catalog: load(t), Machine: m, Say: func(s string) { *said = append(*said, s) },
		Hub: func() (Hub, error) { return shelf{}, nil },
	}, said
}

var loaded = sync.OnceValues(catalog.Load)

func load(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asking is a request for models on targets.
func asking(models []string, targets ...string) Request {
	return Request{Selector: catalog.Selector{Models: models}, Settings: Settings{Targets: targets}}
}

// folder is a model of the user's.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const bertConfig = `{"model_type":"bert"}`

func safetensors() string { return string(hubtest.Safetensors(10, "w")) }

// line is what a test compares of a cell.
func line(c cell.Cell) string {
	return c.Model() + " on " + c.Target + " " + string(c.DType) + " " + c.Size + " " + c.Weights
}

func lines(cells []cell.Cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, line(c))
	}
	return out
}
