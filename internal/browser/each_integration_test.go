//go:build integration

package browser

import (
	"testing"

	"assay/internal/detect"
)

// each runs a test in every browser of this machine.
func each(t *testing.T, test func(t *testing.T, o Options)) {
	t.Helper()
	found := 0
	for _, b := range detect.Browsers(detect.Live()) {
		if _, err := family(b.Name); err != nil {
			continue
		}
		found++
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			test(t, Options{Kind: b.Name, Path: b.Path, Software: true})
		})
	}
	if found == 0 {
		t.Skip("no browser is installed here")
	}
}
