//go:build unix

package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compileScript is a uv that also resolves: its index are the lines of the file
// versions, in order; what was wanted and preferred is left for the test to read.
const compileScript = `#!/bin/sh
[ "$1 $2" = "pip compile" ] || exec "$STAGE/installer" "$@"
while [ $# -gt 0 ]; do
	case "$1" in *.in) in=$1 ;; --output-file) out=$2 ;; esac
	shift
done
echo run >> "$STAGE/compiles"
[ -e "$STAGE/no-network" ] && { echo "error: dns error: failed to lookup address"; exit 2; }
cp "$in" "$STAGE/wanted"; cp "$out" "$STAGE/preferred"
none() { echo "  × No solution found when resolving dependencies:"; echo "  ╰─▶ Because there is no version of it"; exit 1; }
if [ "$(wc -l < "$in")" -gt 1 ]; then
	[ -e "$STAGE/unsolvable" ] && none
	grep '==' "$in" | sed 's/$/ --hash=sha256:11/' > "$out"; echo "numpy==2.0.0 --hash=sha256:22" >> "$out"; exit 0
fi
case "$(cat "$in")" in
*'>='*) from=$(sed 's/.*>=\(.*\),<.*/\1/' "$in"); to=$(sed 's/.*,<//' "$in")
	found=$(sed -n "/^$from\$/,\$p" "$STAGE/versions" | sed -n "/^$to\$/q;p" | tail -n 1)
	grep -qx "$to" "$STAGE/versions" && sed -n "/^$from\$/,\$p" "$STAGE/versions" | grep -qx "$to" || found= ;;
*) found=$(grep -x "$(sed 's/.*==//' "$in")" "$STAGE/versions") ;;
esac
[ -z "$found" ] && none
echo "torch==$found" > "$out"
`

func newIndex(t *testing.T, switches ...string) *stage {
	t.Helper()
	s := newStage(t, switches...)
	s.write("installer", uvScript)
	s.write("uv", compileScript)
	s.write("versions", "2.11.0\n2.12.0\n2.12.1\n2.14.0\n2.15.0\n2.16.0\n")
	s.wanted = []byte("# what is asked for\ntorch==2.15.0\nnumpy==2.4.6 ; sys_platform != 'win32'\n\npytest==9.2.0 # for tests\n")
	s.lock = []byte("numpy==2.4.6 --hash=sha256:00\ntorch==2.15.0 --hash=sha256:00\n")
	return s
}

func TestReleases(t *testing.T) {
	t.Parallel()
	s := newIndex(t)
	got, err := s.Releases(t.Context(), "torch", "2.12.0", "2.15.0")
	if d := cmp.Diff([]string{"2.12.0", "2.12.1", "2.14.0", "2.15.0"}, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if got, err := s.Releases(t.Context(), "torch", "2.15.0", "2.15.0"); err != nil || len(got) != 1 {
		t.Errorf("from a release to itself: %v, %v", got, err)
	}
	for name, ends := range map[string][2]string{
		"is not older than 2.12.0":           {"2.15.0", "2.12.0"},
		"torch==2.13.0 cannot be installed":  {"2.13.0", "2.15.0"},
		"torch==2.15.9 cannot be installed ": {"2.12.0", "2.15.9"},
	} {
		if _, err := s.Releases(t.Context(), "torch", ends[0], ends[1]); !IsKind(err, Unsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", ends, err)
		}
	}
	s.write("no-network", "")
	if _, err := s.Releases(t.Context(), "torch", "2.12.0", "2.15.0"); !IsKind(err, NoNetwork) {
		t.Errorf("without a network: %v", err)
	}
}

// TestWith: an environment with another release is made beside the managed one, from
// what the managed one was made from and with its lock preferred; asked for again it is
// the same, and uv does not choose again.
func TestWith(t *testing.T) {
	t.Parallel()
	s := newIndex(t)
	managed, err := s.Open(t.Context(), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := s.With(t.Context(), Release{"torch", "2.15.0"}); err != nil || same != s.Maker {
		t.Errorf("the locked release is not the managed environment: %v", err)
	}
	var ids []string
	for range 2 {
		m, err := s.With(t.Context(), Release{"torch", "2.12.1"})
		if err != nil {
			t.Fatal(err)
		}
		env, err := m.Open(t.Context(), Choice{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, env.ID)
		if d := cmp.Diff([]Moved{{"numpy", "2.4.6", "2.0.0"}}, Others(s.Maker, m, "torch")); d != "" {
			t.Error(d)
		}
	}
	if ids[0] != ids[1] || ids[0] == managed.ID {
		t.Errorf("environments %v beside %s", ids, managed.ID)
	}
	if n := strings.Count(s.read("compiles"), "run"); n != 1 {
		t.Errorf("uv chose %d times", n)
	}
	if n := strings.Count(s.read("installs"), "run"); n != 2 {
		t.Errorf("%d installations", n)
	}
	if got := s.read("wanted"); got != "torch==2.12.1\nnumpy ; sys_platform != 'win32'\npytest" {
		t.Errorf("asked for\n%s", got)
	}
	if got := s.read("preferred"); got != strings.TrimSpace(string(s.lock)) {
		t.Errorf("preferred\n%s", got)
	}
	if again, err := s.Find(t.Context()); err != nil || again.ID != managed.ID {
		t.Errorf("the managed environment is now %s: %v", again.ID, err)
	}
	if d := cmp.Diff([]string{"torch", "numpy", "pytest"}, s.Packages()); d != "" {
		t.Error(d)
	}
}

// TestWithoutASolution: what cannot be installed is told from an index that cannot be
// asked, and neither is kept.
func TestWithoutASolution(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]Kind{"unsolvable": Unsupported, "no-network": NoNetwork} {
		s := newIndex(t)
		if _, err := s.Open(t.Context(), Choice{}); err != nil {
			t.Fatal(err)
		}
		s.write(name, "")
		if _, err := s.With(t.Context(), Release{"torch", "2.12.1"}); !IsKind(err, kind) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.With(t.Context(), Release{"torch", "2.12.1"}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// holding is an environment that holds a package with this record.
func holding(t *testing.T, info, record string) Environment {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "lib", "python3.12", "site-packages", info, "RECORD")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	return Environment{Python: pythonIn(dir), Managed: true}
}

func TestDiffering(t *testing.T) {
	t.Parallel()
	old := holding(t, "Some_Thing-1.0.dist-info", "some/a.py,sha256=1,10\nsome/b.py,sha256=2,10\n\"some/c,d.py\",sha256=3,10\nsome/__pycache__/a.pyc,,\nSome_Thing-1.0.dist-info/METADATA,sha256=8,1\n")
	now := holding(t, "some_thing-1.1.dist-info", "some/a.py,sha256=1,10\nsome/b.py,sha256=9,10\nsome/e.py,sha256=3,10\nsome_thing-1.1.dist-info/METADATA,sha256=7,1\n")
	got, err := Differing(old, now, "some-thing")
	want := []FileChange{{"some/b.py", "changed"}, {"some/c,d.py", "removed"}, {"some/e.py", "added"}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := Differing(old, now, "other"); err == nil {
		t.Error("a package that is not there has files")
	}
}
