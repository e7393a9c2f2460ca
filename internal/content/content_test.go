package content

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, b *Book, dir string, names ...string) string {
	t.Helper()
	var paths []string
	for _, n := range names {
		paths = append(paths, filepath.Join(dir, n))
	}
	d, err := b.Files(t.Context(), dir, paths)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEditedInPlace: a byte of a file that keeps its size and gets its old time
// back is noticed, also by a book that knew it.
func TestEditedInPlace(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), &Book{Dir: t.TempDir()}
	path := filepath.Join(dir, "model.safetensors")
	body := bytes.Repeat([]byte{7}, large)
	write(t, path, body)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	before := digest(t, b, dir, "model.safetensors")
	body[large/2]++
	write(t, path, body)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if digest(t, b, dir, "model.safetensors") == before {
		t.Error("the edit was not seen")
	}
	body[large/2]--
	write(t, path, body)
	if digest(t, b, dir, "model.safetensors") != before {
		t.Error("the same bytes have another digest")
	}
}

// TestReadOnce: a large file that was left alone is not read a second time, by
// another book of the folder either; one that was just written is.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no change time")
	}
	dir, kept := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "w.bin")
	write(t, path, make([]byte, large))
	digest(t, &Book{Dir: kept}, dir, "w.bin")
	if _, ok := (&Book{Dir: kept}).remembered(path); ok {
		t.Error("a file that was written a moment ago is trusted")
	}
	b := &Book{Dir: kept}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	is, _ := changed(info)
	told := digest(t, b, dir, "w.bin")
	b.remember(entry{path, is.key, "ab" + told[2:]})
	if got := digest(t, &Book{Dir: kept}, dir, "w.bin"); got == told {
		t.Error("the file was read again")
	}
	if e, ok := (&Book{Dir: kept}).remembered(path); !ok || e.Digest != "ab"+told[2:] {
		t.Errorf("%+v, %v", e, ok)
	}
}

func TestNamesCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), []byte("x"))
	write(t, filepath.Join(dir, "b"), []byte("y"))
	if digest(t, &Book{}, dir, "a", "b") != digest(t, &Book{}, dir, "b", "a") {
		t.Error("the order of files counts")
	}
	both := digest(t, &Book{}, dir, "a", "b")
	write(t, filepath.Join(dir, "a"), []byte("y"))
	write(t, filepath.Join(dir, "b"), []byte("x"))
	if digest(t, &Book{}, dir, "a", "b") == both {
		t.Error("which file holds what does not count")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	cancel(stop)
	if _, err := (&Book{}).Files(ctx, dir, []string{filepath.Join(dir, "a")}); !errors.Is(err, stop) {
		t.Errorf("a stopped program goes on reading: %v", err)
	}
	if _, err := (&Book{}).Files(t.Context(), dir, []string{dir}); err == nil {
		t.Error("a folder is not a file")
	}
}
