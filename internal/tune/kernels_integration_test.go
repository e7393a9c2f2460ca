//go:build integration

package tune

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"assay/internal/browser"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/runtimes/web/page"
)

var webgpu = platform.Target{Platform: platform.WebGPU}.Normal()

// bench opens pages in the packed Chromium, whose warm browser they share.
func bench(t *testing.T, files fs.FS) *Bench {
	t.Helper()
	folders, err := environment.FindFolders(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	web, err := environment.New(folders, os.Environ(), func(s string) { t.Log(s) }).FindWeb()
	if err != nil {
		t.Fatalf("%v (make setup makes it)", err)
	}
	found := browser.Find(t.Context(), detect.Live(), web)
	if len(found) == 0 {
		t.Skip("no browser is installed here, and none is packed for this machine")
	}
	pool := pages.NewPool(func(context.Context, platform.Target) (browser.Options, error) {
		o := found[0]
		o.Software = true
		return o, nil
	})
	host, err := pages.Serve(pool, pages.Files{
		Page: files, Package: func(name string) (string, bool) { return web.Package(name), true },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	open := func(ctx context.Context, target platform.Target) (Page, error) {
		return host.Lone(ctx, pages.Where{Target: target})
	}
	return &Bench{Open: open, Repeats: 1, Say: func(line string) { t.Log(line) }}
}

// small are shapes that leave remainders: frames that do not fill a workgroup,
// rows of several blocks.
var small = []Kernel{
	{"stft", map[string]int{"samples": 1500, "length": 400, "hop": 160}},
	{"stft", map[string]int{"samples": 700, "length": 251, "hop": 100}}, // a prime: one row
	{"mel", map[string]int{"frames": 7, "bins": 201, "bands": 80}},
	{"matmul4", map[string]int{"rows": 3, "columns": 65, "inner": 96}},
}

// TestIntegrationKernels: each kernel agrees with its reference at every size
// that the adapter allows, and is timed; what it does not allow is refused.
func TestIntegrationKernels(t *testing.T) {
	t.Parallel()
	b := bench(t, page.Files())
	for _, k := range small {
		f, err := b.search(t.Context(), webgpu, k, []int{32, 256, 1 << 14})
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		for _, r := range f.Rows {
			within := r.Size <= 256
			if within != (r.Refused == "") || within && len(r.MS) != rounds || !within && r.MS != nil {
				t.Errorf("%s %v at %d: %d times, error %g, refused %q", k.Name, k.Shape, r.Size, len(r.MS), r.Error, r.Refused)
			}
		}
	}
}

// TestIntegrationWrongKernel: a kernel whose numbers are wrong is never timed.
func TestIntegrationWrongKernel(t *testing.T) {
	t.Parallel()
	damage := map[string][2]string{
		"stft":    {"times(columnwise[at], turns[turn])", "times(columnwise[at], turns[0])"},
		"mel":     {"bin < shape.bins", "bin < shape.bins - 40"},
		"matmul4": {"const MIDDLE = 8.0", "const MIDDLE = 7.0"},
	}
	files := fstest.MapFS{}
	err := fs.WalkDir(page.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(page.Files(), path)
		name := strings.TrimSuffix(strings.TrimPrefix(path, "kernels/"), ".wgsl")
		if change, ok := damage[name]; ok {
			text = []byte(strings.Replace(string(text), change[0], change[1], 1))
		}
		files[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b := bench(t, files)
	for _, k := range small[1:] {
		f, err := b.search(t.Context(), webgpu, k, []int{64})
		if err != nil {
			t.Fatal(err)
		}
		if r := f.Rows[0]; r.MS != nil || !strings.Contains(r.Refused, "wrong by") {
			t.Errorf("%s damaged: %d times, refused %q", k.Name, len(r.MS), r.Refused)
		}
	}
}

// TestIntegrationDuel: own kernels and stock ones give the same numbers.
func TestIntegrationDuel(t *testing.T) {
	t.Parallel()
	b := bench(t, page.Files())
	for _, d := range []Duel{
		{"log-mel", []string{"stft", "mel"}, map[string]int{"samples": 3200, "rate": 16000, "length": 400, "hop": 160, "bands": 80}},
		{"matmul4", []string{"matmul4"}, map[string]int{"rows": 2, "columns": 128, "inner": 96}},
	} {
		row := b.OwnKernel(t.Context(), webgpu, d, map[string]int{"stft": 128})
		if row.Refused != "" || row.A.MedianMS == nil || row.B.MedianMS == nil || *row.A.MedianMS <= 0 || *row.B.MedianMS <= 0 || row.A.Name == "stock" {
			t.Errorf("%s: %+v", d.Name, row)
		}
	}
}
