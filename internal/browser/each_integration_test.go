//go:build integration

package browser

import (
	"os"
	"slices"
	"testing"

	"assay/internal/detect"
	"assay/internal/environment"
)

// each runs a test in every browser of this machine. The packed Chromium is
// always one of them where there is one.
func each(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	in(t, Find(t.Context(), detect.Live(), packed(t)), test)
}

// perFamily runs a test in one browser of each family: what it is about does not
// depend on more.
func perFamily(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	seen := map[bool]bool{}
	found := slices.DeleteFunc(Find(t.Context(), detect.Live(), packed(t)), func(o Options) bool {
		chromium := forces(o.Kind)
		again := chromium && seen[chromium]
		seen[chromium] = true
		return again
	})
	in(t, found, test)
}

func in(t *testing.T, found []Options, test func(t *testing.T, o Options)) {
	t.Helper()
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
