package environment

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"assay/runtimes/python"
)

func TestUnpack(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	tree := fstest.MapFS{"assay_runner/__init__.py": {Data: []byte("x = 1\n")}, "assay_runner/sub/a.py": {Data: []byte("y = 2\n")}}
	dir, err := unpack(tree, into)
	if err != nil {
		t.Fatal(err)
	}
	a := filepath.Join(dir, "assay_runner", "sub", "a.py")
	before, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "assay_runner", "__init__.py"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := unpack(tree, into)
	if err != nil || again != dir {
		t.Fatalf("the second time: %q, %v; want %q", again, err, dir)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "assay_runner", "__init__.py")); err != nil || string(text) != "x = 1\n" {
		t.Errorf("a damaged file was not repaired: %q, %v", text, err)
	}
	if after, err := os.Stat(a); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a file that was right was written again (%v)", err)
	}
	tree["assay_runner/sub/a.py"] = &fstest.MapFile{Data: []byte("y = 3\n")}
	if other, err := unpack(tree, into); err != nil || other == dir {
		t.Errorf("other content, same folder: %q, %v", other, err)
	}
}

func TestUnpackAtOnce(t *testing.T) {
	t.Parallel()
	into := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := unpack(python.Sources(), into)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "assay_runner", "__init__.py")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(into, "*", "assay_runner", ".*.new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnpackNothing(t *testing.T) {
	t.Parallel()
	if _, err := unpack(fstest.MapFS{}, t.TempDir()); err == nil {
		t.Error("an empty tree was unpacked")
	}
}
