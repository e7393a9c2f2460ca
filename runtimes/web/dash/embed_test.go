package dash

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRebuilt: what lies in dist is what the sources give. It is skipped where
// npm has not installed the tools; make test installs them first.
func TestRebuilt(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("node_modules/esbuild"); err != nil {
		t.Skip("the tools of the pages are not installed: make pages does that")
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

// TestLimits: the site is at most 300 kB before its data, packed as servers pack
// it, and no page asks for anything from elsewhere or has a script inside.
func TestLimits(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for _, name := range []string{"app.js", "app.css", "icon.svg"} {
		b, err := fs.ReadFile(Files(), name)
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || packed.Len() > 300e3 {
		t.Errorf("%d bytes, %v", packed.Len(), err)
	}
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil || strings.Contains(string(page), "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).Match(page) || strings.Contains(string(page), "://") {
		t.Errorf("%v\n%s", err, page)
	}
}

// TestLock: exact versions, hashes, and no addresses.
func TestLock(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, Resolved  string
			Dependencies, DevDependencies map[string]string
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil || len(lock.Packages) < 4 {
		t.Fatalf("%d packages, %v", len(lock.Packages), err)
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Version == "" || p.Integrity == "" || p.Resolved != "") {
			t.Errorf("%s is not locked by version and hash alone", name)
		}
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for _, asked := range []map[string]string{lock.Packages[""].Dependencies, lock.Packages[""].DevDependencies} {
		for name, version := range asked {
			if !exact.MatchString(version) {
				t.Errorf("%s is asked for as %q", name, version)
			}
		}
	}
}
