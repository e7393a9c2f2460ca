//go:build cgo && linux

package store

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReproducer: what docs/findings.md says of DuckDB is still so. What is repaired fails here: then the page changes, and
// session.uninterrupted may go.
func TestReproducer(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/findings.md")
	must(t, err)
	module, err := os.ReadFile("../../go.mod")
	must(t, err)
	_, version, _ := strings.Cut(string(module), "github.com/duckdb/duckdb-go/v2 v")
	version, _, _ = strings.Cut(version, "\n")
	if want := "duckdb-go " + version; !strings.Contains(string(page), want) {
		t.Errorf("docs/findings.md does not say %q: run internal/store/testdata/interrupted with it, and say what it shows", want)
	}
	if os.Getenv("ASSAY_TEST_FULL") == "" {
		t.Skip("it shows a fault of a library: ASSAY_TEST_FULL=1 runs it")
	}
	exe := t.TempDir() + "/interrupted"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "./testdata/interrupted").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), exe).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "shows\n") {
		t.Errorf("it prints\n%s%v", out, err)
	}
}
