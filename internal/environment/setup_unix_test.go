//go:build unix

package environment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// A shell script stands in for Python, and another for uv, so that these tests
// need neither a network nor gigabytes: what they check is the order of steps,
// what is left on disk, and what is said.
const pythonScript = `#!/bin/sh
case "$*" in
-c*) echo '{"path": "'"$0"'", "version": "3.12.1", "bits": 64, "name": "CPython"}' ;;
"-m venv"*) [ -e "$STAGE/no-venv" ] && { echo "$0: No module named venv"; exit 1; }
	mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
"-m pip config"*) echo "global.index-url='https://index.example/simple'" ;;
"-m pip install"*) [ -e "$STAGE/no-pip" ] && { echo "$0: No module named pip"; exit 1; }
	[ -e "$STAGE/no-network" ] && { echo "Temporary failure in name resolution"; exit 1; }
	dir=$(dirname "$0"); [ "$4" = --target ] && { dir=$5/bin; mkdir -p "$dir"; }
	cp "$STAGE/uv" "$dir/uv" ;;
"-m assay_runner version") echo '{"versions": {"python": "3.12.1", "torch": "'"$(cat "$STAGE/torch")"'"}, "missing": ["timm"]}' ;;
*) echo "unexpected: $*"; exit 2 ;;
esac
`

const uvScript = `#!/bin/sh
case "$1 $2" in
"venv "*) for last; do :; done; mkdir -p "$last/bin" && cp "$STAGE/python3" "$last/bin/python" ;;
"pip install") echo run >> "$STAGE/installs"; echo "$UV_DEFAULT_INDEX" > "$STAGE/index"
	[ -e "$STAGE/slow" ] && { touch "$STAGE/begun"; sleep 30; }
	[ -e "$STAGE/full" ] && { echo "No space left on device (os error 28)"; exit 1; }
	echo "Downloading torch (514.2MiB)"; echo "Installed 64 packages in 1s" ;;
"--version "*) echo "uv 9.9.9" ;;
esac
`

// stage is a machine of scripts. Its switches are files: no-venv, slow, …
type stage struct {
	*Maker
	t   *testing.T
	dir string

	mu   sync.Mutex
	said []string
}

func newStage(t *testing.T, switches ...string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir()}
	s.write("python3", pythonScript)
	s.write("uv", uvScript)
	s.write("torch", "2.15.0")
	for _, name := range switches {
		s.write(name, "")
	}
	home := filepath.Join(s.dir, "home")
	environ := []string{"STAGE=" + s.dir, "PATH=/usr/bin:/bin", "ASSAY_PYTHON=" + filepath.Join(s.dir, "python3")}
	s.Maker = &Maker{folders: under(home, true), environ: environ, pass: []string{"STAGE"}, say: s.say, lock: []byte("torch==2.15.0 --hash=sha256:00\n"),
		lockUV: []byte("uv==9.9.9 --hash=sha256:00\n"), size: Size{1, 1, 1},
		sources: fstest.MapFS{"assay_runner/__init__.py": {Data: []byte("\n")}}}
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	// A child forked by another test while the script is open for writing
	// would hold it open, and it could not be started.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (s *stage) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, line)
}

func (s *stage) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, "\n")
}

// leftovers are what a finished or failed setup must not leave.
func (s *stage) leftovers() []string {
	left, _ := filepath.Glob(filepath.Join(s.folders.Data, "*", building+"*"))
	return left
}

func TestSetupThenFind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.Find(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Fatalf("Find before setup: %v", err)
	}
	made, err := s.Open(t.Context(), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Open(t.Context(), Choice{NoSetup: true})
	if err != nil || found.ID != made.ID || found.Versions["torch"] != "2.15.0" || !found.Managed {
		t.Errorf("found %+v (%v), want %s", found, err, made.ID)
	}
	if got := s.read("installs"); got != "run" {
		t.Errorf("installed %q times, want once", got)
	}
	if got := s.read("index"); got != "https://index.example/simple" {
		t.Errorf("uv got the index %q, want pip's", got)
	}
	for _, want := range []string{"using Python 3.12.1", "installing uv", "loading torch (514.2MiB)", "is ready"} {
		if !strings.Contains(s.told(), want) {
			t.Errorf("%q was not said in:\n%s", want, s.told())
		}
	}
	if left := s.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSetupForbidden(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.Open(t.Context(), Choice{NoSetup: true}); !IsKind(err, Forbidden) || !strings.Contains(err.Error(), "--no-setup") {
		t.Errorf("--no-setup: %v", err)
	}
	s.environ = append(s.environ, "ASSAY_OFFLINE=1")
	if _, err := s.Open(t.Context(), Choice{}); !IsKind(err, Forbidden) || !strings.Contains(err.Error(), "ASSAY_OFFLINE") {
		t.Errorf("offline: %v", err)
	}
	if _, err := os.Stat(s.folders.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written all the same (%v)", err)
	}
}

func TestSetupWithoutVenv(t *testing.T) {
	t.Parallel()
	s := newStage(t, "no-venv")
	if _, err := s.Setup(t.Context()); err != nil {
		t.Errorf("a Python with pip and no venv: %v", err)
	}
	s = newStage(t, "no-venv", "no-pip")
	if _, err := s.Setup(t.Context()); !IsKind(err, BrokenPython) || !strings.Contains(err.Error(), "python3-venv") {
		t.Errorf("a Python with neither: %v", err)
	}
}

func TestSetupFailures(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]Kind{"no-network": NoNetwork, "full": NoSpace} {
		s := newStage(t, name)
		_, err := s.Setup(t.Context())
		if !IsKind(err, kind) || !strings.Contains(err.Error(), s.folders.SetupLog()) {
			t.Errorf("%s: %v", name, err)
		}
		if left := s.leftovers(); len(left) > 0 {
			t.Errorf("%s left behind: %v", name, left)
		}
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Setup(t.Context()); err != nil {
			t.Errorf("%s: the next try failed too: %v", name, err)
		}
	}
	s := newStage(t)
	s.size.Need = 1 << 62
	if _, err := s.Setup(t.Context()); !IsKind(err, NoSpace) || s.read("installs") != "" {
		t.Errorf("no room: %v, installs %q", err, s.read("installs"))
	}
}

// TestSetupSweeps: what a killed build left is not an environment, and goes.
func TestSetupSweeps(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	half := filepath.Join(s.folders.environments(), building+"1", "bin")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := s.leftovers(); len(left) > 0 || !strings.Contains(s.told(), "interrupted setup") {
		t.Errorf("left behind: %v; said:\n%s", left, s.told())
	}
}

func TestSetupCancelled(t *testing.T) {
	t.Parallel()
	s := newStage(t, "slow")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	go func() {
		for s.read("installs") == "" && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := s.Setup(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled setup gave %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("cancelling took %v", took)
	}
	if left := s.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSetupTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	held, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := s.Setup(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for !strings.Contains(s.told(), "waiting for it") {
		time.Sleep(5 * time.Millisecond)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if got := s.read("installs"); got != "run" {
		t.Errorf("installed %q, want once", got)
	}
}

func TestBrokenEnvironmentIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	env, err := s.Setup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(env.Python); err != nil { // its base Python was uninstalled
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Errorf("an environment without Python was found (%v)", err)
	}
	if _, err := s.Open(t.Context(), Choice{}); err != nil {
		t.Errorf("it was not made again: %v", err)
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := filepath.Join(s.dir, "python3")
	env, err := s.Open(t.Context(), Choice{Python: path, NoSetup: true})
	if err != nil || env.Managed || env.Versions["torch"] != "2.15.0" || len(env.Missing) != 1 || !strings.HasPrefix(env.ID, "user-") {
		t.Errorf("the user's own: %+v, %v", env, err)
	}
	s.write("torch", "2.3.1+cu118")
	if _, err := s.User(t.Context(), path); !IsKind(err, OldPackage) || !strings.Contains(err.Error(), "torch 2.3.1+cu118, and Assay needs 2.4") {
		t.Errorf("an old torch: %v", err)
	}
	if _, err := s.User(t.Context(), filepath.Join(s.dir, "absent")); !IsKind(err, NoPython) {
		t.Errorf("an absent Python: %v", err)
	}
	bare, err := s.Bare(t.Context(), Choice{})
	if err != nil || bare.Versions["python"] != "3.12.1" {
		t.Errorf("bare: %+v, %v", bare, err)
	}
}
