//go:build integration

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/browser"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/runtimes/web/page"
)

// TestIntegrationReproducers: what rewrites for browsers work around is still
// wrong in the locked ONNX Runtime Web. The reproducers are Python's, beside all
// others; here are the pages that they need.
func TestIntegrationReproducers(t *testing.T) {
	t.Parallel()
	if os.Getenv("ASSAY_TEST_FULL") == "" {
		t.Skip("make test-full runs it")
	}
	python, err := torchPython()
	if err != nil {
		t.Fatal(err)
	}
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

// pagesOfPacked serves pages in the packed Chromium, WebGPU by software.
func pagesOfPacked(t *testing.T) *pages.Host {
	t.Helper()
	dir, err := webEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	web := environment.Web{Dir: dir, Versions: map[string]string{"chromium": "the packed one"}}
	found := browser.Find(t.Context(), detect.Live(), web)
	if len(found) == 0 {
		t.Skip("there is no browser")
	}
	pool := pages.NewPool(func(_ context.Context, target platform.Target) (browser.Options, error) {
		o := found[0]
		o.Software = target.Platform == platform.WebGPU
		return o, nil
	})
	packages := func(name string) (string, bool) { return web.Package(name), true }
	host, err := pages.Serve(pool, pages.Files{Page: page.Files(), Package: packages})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, closes := range []func() error{host.Close, pool.Close} {
			if err := closes(); err != nil {
				t.Error(err)
			}
		}
	})
	return host
}
