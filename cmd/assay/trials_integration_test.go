//go:build integration

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"assay/internal/pages"
	"assay/internal/platform"
)

// TestIntegrationTrials: faults planted between Assay and WebNN are noticed, and
// what is said to work on WebNN is right on inputs of the judge. The trials are
// Python's, with those of the other engines; here are the pages that they need,
// one for each of their children. ASSAY_TEST_MUTANTS and ASSAY_TEST_JUDGE have
// further options.
func TestIntegrationTrials(t *testing.T) { //nolint:paralleltest // each takes all cores
	for _, trial := range []struct {
		name    string
		options []string
	}{
		{"mutants", strings.Fields(os.Getenv("ASSAY_TEST_MUTANTS"))},
		{"judge", append([]string{"--count", "20"}, strings.Fields(os.Getenv("ASSAY_TEST_JUDGE"))...)},
	} {
		t.Run(trial.name, func(t *testing.T) { inPages(t, trial.name, trial.options) })
	}
}

// inPages runs a trial on WebNN, and shows what it prints while it runs.
func inPages(t *testing.T, name string, options []string) {
	t.Helper()
	python, host := pythonOfFull(t), pagesOfPacked(t)
	var addresses []string
	for range runtime.NumCPU() {
		visit := host.Visit(t.Context(), pages.Where{Target: platform.Target{Platform: platform.WebNN}.Normal()})
		addresses = append(addresses, visit.Address())
	}
	asked := append([]string{python, name}, options...)
	asked = append(asked, "--processes", strconv.Itoa(len(addresses)), "--engines", "webnn")
	run := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", "trials"), asked...)
	run.Env = append(os.Environ(), "ASSAY_TEST_PAGES_WEBNN="+strings.Join(addresses, " "))
	var said bytes.Buffer
	run.Stdout = io.MultiWriter(&said, os.Stderr)
	run.Stderr = run.Stdout
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	t.Logf("%s", said.String())
}
