//go:build integration

package browser

import (
	"os"
	"testing"

	"assay/internal/detect"
	"assay/internal/environment"
)

// each runs a test in every browser of this machine. The packed Chromium is
// always one of them where there is one.
func each(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	found := Find(t.Context(), detect.Live(), packed(t))
	if len(found) == 0 {
		t.Skip("no browser is installed here, and none is packed for this machine")
	}
	for _, o := range found {
		o.Software = true
		t.Run(o.Kind, func(t *testing.T) { test(t, o) })
	}
}

// packed returns the web environment that `assay setup web` made.
func packed(t *testing.T) environment.Web {
	t.Helper()
	folders, err := environment.FindFolders(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	w, err := environment.New(folders, os.Environ(), func(s string) { t.Log(s) }).FindWeb()
	if err != nil {
		t.Fatalf("%v (make setup makes it)", err)
	}
	return w
}
