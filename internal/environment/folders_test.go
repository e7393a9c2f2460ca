package environment

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindFolders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the table is of Unix paths")
	}
	for _, c := range []struct {
		name, goos string
		vars       map[string]string
		want       Folders
	}{
		{"home", "linux", map[string]string{"HOME": "/h"}, Folders{"/h/.local/share/assay", "/h/.cache/assay", "/h/.config/assay", false}},
		{"xdg", "linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "relative"}, Folders{"/d/assay", "/h/.cache/assay", "/h/.config/assay", false}},
		{"moved", "darwin", map[string]string{"HOME": "/h", "ASSAY_HOME": "/a", "XDG_DATA_HOME": "/d"}, Folders{"/a/data", "/a/cache", "/a/config", true}},
		{"windows", "windows", map[string]string{"LOCALAPPDATA": "/l"}, Folders{"/l/assay/data", "/l/assay/cache", "/l/assay/config", false}},
	} {
		got, err := findFolders(func(n string) string { return c.vars[n] }, c.goos)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, goos := range []string{"linux", "windows"} {
		if f, err := findFolders(func(string) string { return "" }, goos); err == nil {
			t.Errorf("%s without any variable gave %v, want an error", goos, f)
		}
	}
}

func TestCreateSaysWhy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := under(file, true).Create()
	if !IsKind(err, NoPermission) {
		t.Errorf("Create under a file gave %v", err)
	}
}

func TestCheckRoom(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "yet")
	if err := checkRoom(dir, dir, 1); err != nil {
		t.Errorf("one byte is too much: %v", err)
	}
	if err := checkRoom(dir, dir, 1<<62); !IsKind(err, NoSpace) {
		t.Errorf("an endless need gave %v", err)
	}
}
