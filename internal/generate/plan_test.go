package generate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// folder is one with a file in each state, and the files that would be written.
func folder(t *testing.T) (string, []File) {
	t.Helper()
	dir := t.TempDir()
	there := map[string]string{
		"same.py":     text("x = 1"),
		"kept.py":     keptText(),
		"windows.py":  strings.ReplaceAll(keptText(), "\n", "\r\n"),
		"outdated.py": text("x = 0"),
		"edited.py":   text("x = 1") + "more\n",
		"foreign.py":  "import torch\n",
		"broken.py":   strings.Replace(keptText(), KeepTo, "", 1),
	}
	files := []File{{"new.py", text("x = 1")}}
	for name, old := range there {
		put(t, filepath.Join(dir, name), old)
		files = append(files, File{name, text("x = 1")})
	}
	return dir, files
}

func keptText() string { return Keep(text("x = 1"), keeping("mine\n")) }

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func states(plan Changes) map[string]State {
	of := map[string]State{}
	for _, c := range plan {
		of[c.Name] = c.State
	}
	return of
}

func TestStates(t *testing.T) {
	t.Parallel()
	dir, files := folder(t)
	plan, err := Plan(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]State{"new.py": New, "same.py": Same, "kept.py": Same, "windows.py": Same, "outdated.py": Outdated, "edited.py": Edited, "broken.py": Broken, "foreign.py": Foreign}
	if diff := cmp.Diff(want, states(plan)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.py")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("planning wrote a file: %v", err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		force bool
		left  map[string]State // what a second plan finds; the others are the same
	}{
		{"what nobody edited", false, map[string]State{"edited.py": Edited, "broken.py": Broken, "foreign.py": Foreign}},
		{"what somebody edited", true, map[string]State{"broken.py": Broken, "foreign.py": Foreign}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, files := folder(t)
			plan, err := Plan(dir, files)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := plan.Write(tt.force); err != nil {
				t.Fatal(err)
			}
			again, err := Plan(dir, files)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.left, states(again.Of(New, Outdated, Edited, Broken, Foreign)), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			kept, err := os.ReadFile(filepath.Join(dir, "kept.py"))
			if err != nil || !strings.Contains(string(kept), "mine\n") {
				t.Errorf("what its keeper wrote is gone: %v\n%s", err, kept)
			}
			left, err := filepath.Glob(filepath.Join(dir, ".assay-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestDiffering: what is left alone, and what a check counts.
func TestDiffering(t *testing.T) {
	t.Parallel()
	all := Changes{{State: New}, {State: Same}, {State: Outdated}, {State: Edited}, {State: Broken}, {State: Foreign}}
	if differ, there := all.Differing(); len(differ) != 4 || there != 5 {
		t.Errorf("%d of %d differ", len(differ), there)
	}
	if plain, forced := all.LeftAlone(false), all.LeftAlone(true); len(plain) != 3 || len(forced) != 2 {
		t.Errorf("%v are left alone, with force %v", plain, forced)
	}
}

func TestNamesThatCollide(t *testing.T) {
	t.Parallel()
	_, err := Plan(t.TempDir(), []File{{"a.py", "1"}, {"b.py", "2"}, {"a.py", "3"}})
	if err == nil || !strings.Contains(err.Error(), "a.py") {
		t.Errorf("two files of one name: %v", err)
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "no folder")
	for name, dir := range map[string]string{"is a file": file, "is below a file": filepath.Join(file, "below")} {
		plan, err := Plan(dir, []File{{"a.py", "1"}})
		if err == nil {
			_, err = plan.Write(true)
		}
		if err == nil {
			t.Errorf("a folder that %s was written into", name)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "no folder" {
		t.Errorf("the file is now %q, %v", text, err)
	}
}

func TestFolderWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	plan, err := Plan(dir, []File{{"a.py", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Write(false); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("writing gave %v", err)
	}
}
