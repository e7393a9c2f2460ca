package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/filelock"
)

func TestWords(t *testing.T) {
	t.Parallel()
	var lines []string
	w := &words{line: func(s string) { lines = append(lines, s) }}
	for _, part := range []string{"one\ntw", "o\r\n", strings.Repeat("x", 3*wordsKept), "\nlast words\n\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(lines) != 5 || lines[0] != "one" || lines[1] != "two" || lines[3] != "last words" {
		t.Errorf("lines %.40q", lines)
	}
	if w.last() != "last words" || (&words{kept: []byte("FATAL: no socket\nanother died\n\n")}).last() != "FATAL: no socket" || len(w.kept) > wordsKept {
		t.Errorf("last %q, %d bytes kept", w.last(), len(w.kept))
	}
}

// TestSweepProfiles: what a killed process left goes, what is in use stays.
func TestSweepProfiles(t *testing.T) {
	t.Parallel()
	used, err := newProfile()
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newProfile()
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the system does for the dead
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead.dir, "Cookies"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sweepProfiles()
	for _, name := range []string{dead.dir, dead.lock.Name()} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", name, err)
		}
	}
	if _, err := os.Stat(used.dir); err != nil {
		t.Error(err)
	}
	if err := filelock.Try(mustOpen(t, used.lock.Name()), filelock.Exclusive); err == nil {
		t.Error("the lock of a profile in use was free")
	}
	if err := used.remove(); err != nil {
		t.Error(err)
	}
}

func mustOpen(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestFlags(t *testing.T) {
	t.Parallel()
	names := func(o Options) map[string]any {
		all := map[string]any{}
		for _, f := range flags(o, "/profile") {
			if _, twice := all[f.name]; twice {
				t.Errorf("%s is given twice: the last one would win", f.name)
			}
			all[f.name] = f.value
		}
		return all
	}
	usual, forced := names(Options{}), names(Options{Software: true})
	if usual["use-webgpu-adapter"] != nil || forced["use-webgpu-adapter"] != "swiftshader" {
		t.Errorf("the adapter is %v, and %v when forced", usual["use-webgpu-adapter"], forced["use-webgpu-adapter"])
	}
	if usual["user-data-dir"] != "/profile" {
		t.Errorf("the profile is %v", usual["user-data-dir"])
	}
}
