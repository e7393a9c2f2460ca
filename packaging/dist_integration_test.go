//go:build integration

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIntegrationDist: two builds from two places give the same bytes, and what
// is in them works: unpacked, and installed by pip and by uv.
func TestIntegrationDist(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what is made for Linux is run")
	}
	first, second := dist(t, "..", "linux/"+runtime.GOARCH), dist(t, copied(t), "linux/"+runtime.GOARCH)
	if d := cmp.Diff(sumsOf(t, first), sumsOf(t, second)); d != "" {
		t.Errorf("the same source in another folder gives other bytes: %s", d)
	}
	wheel := one(t, first, "*.whl")
	if err := checkRecord(wheel, nil); err != nil {
		t.Error(err)
	}
	if err := checkRecord(wheel, func(name string, data []byte) []byte { return append(data, ' ') }); err == nil {
		t.Error("a RECORD with wrong hashes is not noticed")
	}
	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		command(t, "tar", "-xzf", one(t, first, "*.tar.gz"), "-C", dir)
		folder := one(t, dir, "*")
		answers(t, filepath.Join(folder, "assay"))
		for _, name := range []string{"completions/assay.bash", "completions/_assay", "completions/assay.fish", "man/man1/assay-can-i-use.1"} {
			if len(read(t, folder, name)) < 500 {
				t.Errorf("%s is not what it should be", name)
			}
		}
		command(t, "bash", "-c", `source "$1" && complete -p assay`, "bash", filepath.Join(folder, "completions", "assay.bash"))
	})
	t.Run("pip", func(t *testing.T) {
		dir := t.TempDir()
		command(t, "python3", "-m", "venv", dir)
		command(t, filepath.Join(dir, "bin", "pip"), "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
		answers(t, filepath.Join(dir, "bin", "assay"))
		command(t, filepath.Join(dir, "bin", "pip"), "check", "--disable-pip-version-check")
		said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python"), "-c", "import assay").CombinedOutput()
		if err == nil || !strings.Contains(string(said), "pip install 'assay[torch]'") {
			t.Errorf("import assay without torch: %v\n%s", err, said)
		}
	})
	t.Run("uvx", func(t *testing.T) {
		answers(t, uvx(t), "--offline", "--from", wheel, "assay")
	})
}

// TestIntegrationEverySystem: all targets cross-compile, and no wheel lacks anything.
func TestIntegrationEverySystem(t *testing.T) {
	if os.Getenv("ASSAY_TEST_FULL") == "" {
		t.Skip("cross-compiling six programs takes minutes: make test-full")
	}
	out := dist(t, "..", "")
	wheels, err := filepath.Glob(filepath.Join(out, "*.whl"))
	if err != nil || len(wheels) != len(targets) || len(sumsOf(t, out)) != 2*len(targets)+2 {
		t.Errorf("%d wheels, %v: %v", len(wheels), err, sumsOf(t, out))
	}
	for _, w := range wheels {
		if err := checkRecord(w, nil); err != nil {
			t.Error(err)
		}
	}
}

func dist(t *testing.T, root, only string) string {
	t.Helper()
	out := t.TempDir()
	var said bytes.Buffer
	err := run(t.Context(), []string{"-version", "v0.1.0", "-source", root, "-out", out, "-only", only}, func(string) string { return "1763430000" }, &said)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return out
}

// copied is the source in another folder, without what is not part of it.
func copied(t *testing.T) string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkRecord compares the files of a wheel, changed on their way, with its RECORD.
func checkRecord(path string, change func(string, []byte) []byte) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	got, want := map[string]string{}, map[string]string{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
			if err != nil {
				return err
			}
			for _, row := range rows {
				want[row[0]] = row[1] + " " + row[2]
			}
			got[f.Name] = " " // its own row has neither
			continue
		}
		if change != nil {
			data = change(f.Name, data)
		}
		sum := sha256.Sum256(data)
		got[f.Name] = fmt.Sprintf("sha256=%s %d", base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
	}
	if d := cmp.Diff(want, got); d != "" {
		return fmt.Errorf("%s: RECORD and files differ: %s", path, d)
	}
	return nil
}

// answers runs can-i-use with folders of its own.
func answers(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(args, "can-i-use", "bert", "--on", "cuda")...)
	cmd.Env = append(os.Environ(), "ASSAY_HOME="+t.TempDir(), "UV_CACHE_DIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "cuda    works") {
		t.Errorf("%s: %v\n%s", program, err, out)
	}
}

// uvx is the one that the managed environment was made with.
func uvx(t *testing.T) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		filepath.Join(os.Getenv("ASSAY_HOME"), "data", "boot", "*", "bin", "uvx"), filepath.Join(os.Getenv("XDG_DATA_HOME"), "assay", "boot", "*", "bin", "uvx"),
		filepath.Join(home, ".local", "share", "assay", "boot", "*", "bin", "uvx"),
	} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	path, err := exec.LookPath("uvx")
	if err != nil {
		t.Fatal("there is no uvx: make setup installs one")
	}
	return path
}

func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %v, %v", pattern, dir, found, err)
	}
	return found[0]
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}
