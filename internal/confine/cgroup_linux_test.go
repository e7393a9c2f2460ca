package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnGroup(t *testing.T) {
	t.Parallel()
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none rw,nsdelegate\n"
	for _, c := range []struct{ mounts, own, want, says string }{
		{v2, "0::/user.slice/assay.service\n", "/sys/fs/cgroup/user.slice/assay.service", ""},
		{"31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n", "4:memory:/\n", "", "no cgroups of version 2"},
		{v2, "4:memory:/\n", "", "in no cgroup"},
	} {
		got, err := ownGroup(c.mounts, c.own)
		if got != c.want || err != nil && !strings.Contains(err.Error(), c.says) || (err == nil) != (c.says == "") {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestGroupIn: the files of a delegated cgroup, as a plain folder that holds what was written.
func TestGroupIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := groupIn(dir, 1<<30, 7); err == nil || !strings.Contains(err.Error(), "not delegated") {
		t.Errorf("without controllers: %v", err)
	}
	for name, text := range map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := groupIn(dir, 1<<30, 7)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "cgroup.subtree_control"):         "+memory",
		filepath.Join(dir, "assay-worker-7", "cgroup.procs"): "7",
		filepath.Join(g.dir, "memory.max"):                   "1073741824",
	} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
