//go:build integration

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withoutStore is the program built without cgo, and so without DuckDB.
func withoutStore(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "assay")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", exe, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// TestIntegrationWithoutStore: built without DuckDB the program answers, runs and
// shows as the other does; only SQL is refused. What it ran, the other can be
// asked for.
func TestIntegrationWithoutStore(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	p.exe = withoutStore(t)
	for _, args := range [][]string{
		{"can-i-use", "bert", "--on", "cuda"}, {"detect"}, {"models", "--key"}, {"models", "show", "bert"}, {"matrix", "show"},
		{"generate", "test", "bert", "--out", filepath.Join(p.dir, "tests")}, {"query", "history"}, {"db", "path"}, {"report", "--format", "md"},
	} {
		if out := p.ok(t, args...); out == "" {
			t.Errorf("assay %s prints nothing", strings.Join(args, " "))
		}
	}
	for _, args := range [][]string{{"query"}, {"query", "--sql", "select 1"}, {"query", "--sql", "select 1", "--out", filepath.Join(p.dir, "x.csv")}, {"db", "rebuild"}} {
		_, stderr, status := p.run(t, args...)
		if status != exitProgram || !strings.Contains(stderr, "needs DuckDB, which this assay was built without") {
			t.Errorf("assay %s: status %d\n%s", strings.Join(args, " "), status, stderr)
		}
	}
	p.report(t, exitOK, "test", "bert", "--platform", "cpu")
	p.report(t, exitOK, "bench", "vit", "--quick", "--platform", "cpu")
	p.ok(t, "matrix", "bert", "vit", "--platform", "cpu", "--resume") // nothing is left
	ran, shown := p.shown(t)
	p.exe = ""
	again, same := p.shown(t)
	if d := cmp.Diff(same, shown); ran != 2 || again != ran || d != "" {
		t.Errorf("%d results without DuckDB and %d with it: %s", ran, again, d)
	}
	if n := p.count(t); n != 2 {
		t.Errorf("the store has %d results, want 2", n)
	}
}

// shown is how many results the matrix is made of, and the matrix.
func (p *program) shown(t *testing.T) (results int, text string) {
	t.Helper()
	out := p.ok(t, "matrix", "show", "--key", "--json")
	var m struct {
		Results int             `json:"results"`
		Matrix  json.RawMessage `json:"matrix"`
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return m.Results, regexp.MustCompile(`"age_s": [^,]*`).ReplaceAllString(string(m.Matrix), "")
}
