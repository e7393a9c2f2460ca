//go:build integration

package main

import (
	"context"
	"testing"

	"assay/internal/browser"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/pages"
	"assay/internal/platform"
)

// packedWeb is the user's web environment, with its Chromium.
func packedWeb(t *testing.T) environment.Web {
	t.Helper()
	dir, err := webEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return environment.Web{Dir: dir, Versions: map[string]string{"chromium": "the packed one"}}
}

// packedPool opens pages in the packed Chromium, for WebGPU by software, until
// the test ends.
func packedPool(t *testing.T, web environment.Web) *pages.Pool {
	t.Helper()
	found := browser.Find(t.Context(), detect.Live(), web)
	if len(found) == 0 {
		t.Skip("there is no browser")
	}
	pool := pages.NewPool(func(_ context.Context, target platform.Target) (browser.Options, error) {
		o := found[0]
		o.Software = target.Platform == platform.WebGPU
		return o, nil
	})
	closed(t, pool.Close)
	return pool
}

// closed has something closed when the test ends, what was opened last first.
func closed(t *testing.T, closes func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := closes(); err != nil {
			t.Error(err)
		}
	})
}
