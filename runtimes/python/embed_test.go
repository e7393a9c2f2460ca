package python

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSourcesAreTheFolder fails when a file of assay_runner is not embedded.
func TestSourcesAreTheFolder(t *testing.T) {
	t.Parallel()
	want := files(t, os.DirFS("."))
	got := files(t, Sources())
	if len(want) == 0 {
		t.Fatal("the folder assay_runner holds no files")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("embed.go does not embed what is in the folder (-folder +embedded):\n%s", diff)
	}
}

func files(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pkg := range []string{"assay_runner", "assay"} {
		walk(t, tree, pkg, found)
	}
	return found
}

func walk(t *testing.T, tree fs.FS, pkg string, found map[string]string) {
	t.Helper()
	err := fs.WalkDir(tree, pkg, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "__pycache__" {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == "py.typed" { // for those who check types against it
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLocksHoldNoAddress keeps every index usable: the user's settings decide
// where packages come from.
func TestLocksHoldNoAddress(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string][]byte{"requirements.lock": Requirements(), "boot.lock": Boot()} {
		for i, line := range strings.Split(string(lock), "\n") {
			if strings.Contains(line, "://") || strings.Contains(line, "index-url") || strings.Contains(line, "find-links") {
				t.Errorf("%s, line %d, names an address: %s", name, i+1, line)
			}
		}
	}
}
