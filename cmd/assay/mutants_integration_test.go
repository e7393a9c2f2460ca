//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/pages"
	"assay/internal/platform"
)

// TestIntegrationMutants: faults planted between Assay and WebNN are noticed.
// The trial is Python's, with those of the other engines; here is the page that
// it needs. ASSAY_TEST_MUTANTS has further options of the trial.
func TestIntegrationMutants(t *testing.T) {
	t.Parallel()
	python := pythonOfFull(t)
	visit := pagesOfPacked(t).Visit(t.Context(), pages.Where{Target: platform.Target{Platform: platform.WebNN}.Normal()})
	options := append([]string{python, "mutants"}, strings.Fields(os.Getenv("ASSAY_TEST_MUTANTS"))...)
	options = append(options, "--engines", "webnn")
	run := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", "trials"), options...)
	run.Env = append(os.Environ(), "ASSAY_TEST_PAGE_WEBNN="+visit.Address())
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
