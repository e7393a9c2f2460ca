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
	"assay/runtimes/web/page"
)

// TestIntegrationReproducers: what rewrites for browsers work around is still
// wrong in the locked ONNX Runtime Web. The reproducers are Python's, beside all
// others; here are the pages that they need.
func TestIntegrationReproducers(t *testing.T) {
	t.Parallel()
	python := pythonOfFull(t)
	host := pagesOfPacked(t)
	run := exec.CommandContext(t.Context(), python, "-m", "pytest", "-m", "full", "-k", "onnxruntime-web", "-rs", "tests/test_workarounds.py")
	run.Dir = filepath.Join("..", "..", "runtimes", "python")
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	for _, name := range []platform.Name{platform.WebNN, platform.WebGPU} {
		visit := host.Visit(t.Context(), pages.Where{Target: platform.Target{Platform: name}.Normal()})
		run.Env = append(run.Env, "ASSAY_TEST_PAGE_"+strings.ToUpper(string(name))+"="+visit.Address())
	}
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " passed") || strings.Contains(string(out), "skipped") {
		t.Errorf("%v\n%s", err, out)
	}
}

// pythonOfFull is the Python for what only make test-full runs.
func pythonOfFull(t *testing.T) string {
	t.Helper()
	if os.Getenv("ASSAY_TEST_FULL") == "" {
		t.Skip("make test-full runs it")
	}
	python, err := torchPython()
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// pagesOfPacked serves pages in the packed Chromium, WebGPU by software.
func pagesOfPacked(t *testing.T) *pages.Host {
	t.Helper()
	web := packedWeb(t)
	packages := func(name string) (string, bool) { return web.Package(name), true }
	host, err := pages.Serve(packedPool(t, web), pages.Files{Page: page.Files(), Package: packages})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, host.Close)
	return host
}
