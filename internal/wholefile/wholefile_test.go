package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var errFull = errors.New("the disk is full")

// TestWrite: each way to write a file gives it its bytes and its mode, and
// leaves nothing beside it.
func TestWrite(t *testing.T) {
	t.Parallel()
	text := []byte("all of it\n")
	for name, write := range map[string]func(path string, o Options) error{
		"bytes": func(path string, o Options) error { return Write(path, text, o) },
		"stream": func(path string, o Options) error {
			return Stream(path, o, func(f *os.File) error { _, err := f.Write(text); return err })
		},
		"made": func(path string, o Options) error {
			return Make(path, o, func(temp string) error { return os.WriteFile(temp, text, 0) })
		},
	} {
		for mode, want := range map[fs.FileMode]fs.FileMode{0: 0o600, 0o644: 0o644, 0o666: 0o666} {
			path := filepath.Join(t.TempDir(), "file.json")
			for range 2 { // the second replaces the first
				if err := write(path, Options{Mode: mode, Sync: mode != 0}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != string(text) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != want {
				t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
			}
			expectAlone(t, path)
		}
	}
}

// TestFailure: what fails half way leaves the old file as it was, or none.
func TestFailure(t *testing.T) {
	t.Parallel()
	half := func(f *os.File) error {
		if _, err := f.WriteString("half"); err != nil {
			return err
		}
		return errFull
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := Stream(path, Options{}, half); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a file is there: %v", err)
	}
	if err := Write(path, []byte("old"), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Stream(path, Options{Sync: true}, half); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	expectAlone(t, path)
	if err := Write(filepath.Join(path, "in a file"), nil, Options{}); err == nil {
		t.Error("a file was written into a file")
	}
	folder := filepath.Join(t.TempDir(), "folder")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, []byte("x"), Options{}); err == nil {
		t.Error("a folder was replaced")
	}
	expectAlone(t, folder)
}

// TestNew: a file that is there is not replaced.
func TestNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, []byte("first"), Options{New: true}); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("second"), Options{New: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want that it exists", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	expectAlone(t, path)
}

// TestReaders: whoever reads while it is written sees the one or the other.
func TestReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	if err := Write(path, []byte(texts[0]), Options{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var failed error
		for i := range 50 {
			failed = errors.Join(failed, Write(path, []byte(texts[i%2]), Options{}))
		}
		done <- failed
	}()
	for {
		select {
		case err := <-done:
			if err != nil && runtime.GOOS != "windows" { // which lets nobody replace what is being read
				t.Error(err)
			}
			return
		default:
			got, err := os.ReadFile(path)
			if err == nil && string(got) != texts[0] && string(got) != texts[1] {
				t.Fatalf("a reader saw %d bytes that are neither file", len(got))
			}
		}
	}
}

// expectAlone: nothing but the path is in its folder.
func expectAlone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 || files[0].Name() != filepath.Base(path) {
		t.Errorf("beside %s: %v, %v", filepath.Base(path), files, err)
	}
}
