//go:build integration

package dash

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestIntegrationRebuilt: what lies in dist is what the sources give.
func TestIntegrationRebuilt(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules/esbuild"); err != nil {
		t.Fatal("the tools of the pages are not installed: make pages does that")
	}
	out := t.TempDir()
	if said, err := exec.Command("node", "build.mjs", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, name := range []string{"app.js", "app.css", "charts.js"} {
		built, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := fs.ReadFile(Files(), name)
		if err != nil || !bytes.Equal(built, kept) {
			t.Errorf("dist/%s is not what the sources give (%v): run make pages", name, err)
		}
	}
}
