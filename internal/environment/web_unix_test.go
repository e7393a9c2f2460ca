//go:build unix

package environment

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
)

// A shell script stands in for npm: it copies what the stage holds.
const npmScript = `#!/bin/sh
case "$1" in
--version) echo "npm warn something" >&2; cat "$STAGE/npm-version" ;;
ci) echo run >> "$STAGE/installs"; for dir; do :; done
	[ -e "$STAGE/unreachable" ] && { echo "npm error code ENOTFOUND"; exit 1; }
	[ -e "$STAGE/slow" ] && sleep 1
	case "$dir" in */chromium) cp -r "$STAGE/chromium" "$dir/node_modules" ;; *) cp -r "$STAGE/packages" "$dir/node_modules" ;; esac ;;
esac
`

// newWebStage is a machine whose npm is the script, and whose lists name one
// package each.
func newWebStage(t *testing.T, switches ...string) *stage {
	t.Helper()
	s := newStage(t, switches...)
	s.write("npm", npmScript)
	s.write("npm-version", "11.2.0")
	s.put("packages/ort/package.json", []byte(`{"version": "1.2.3"}`))
	s.put("packages/own/package.json", []byte(`{"version": "0.0.0"}`))
	pkg := "chromium/" + chromiumPackage
	s.put(pkg+"/package.json", []byte(`{"version": "4.5.6"}`))
	s.put(pkg+"/bin/chromium.br", compressed(t, []byte("#!/bin/sh\n")))
	s.put(pkg+"/bin/al2023.tar.br", compressed(t, archive(t, "lib/libnss3.so")))
	s.put(pkg+"/bin/swiftshader.tar.br", compressed(t, archive(t, "libvk_swiftshader.so")))
	s.environ = append(s.environ, "ASSAY_NPM="+filepath.Join(s.dir, "npm"))
	s.web = map[string]fs.FS{
		".":            fstest.MapFS{"package.json": {Data: []byte(`{"dependencies": {"ort": "1.2.3", "own": "file:own"}}`)}},
		chromiumFolder: fstest.MapFS{"package.json": {Data: []byte(`{"dependencies": {"` + chromiumPackage + `": "4.5.6"}}`)}},
	}
	return s
}

func (s *stage) put(name string, text []byte) {
	s.t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func archive(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: 3, Typeflag: tar.TypeReg})
	_, errWrite := w.Write([]byte("ELF"))
	if err := errors.Join(err, errWrite, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWebSetupThenFind(t *testing.T) {
	t.Parallel()
	s := newWebStage(t)
	if _, err := s.FindWeb(); !errors.Is(err, ErrNoWeb) {
		t.Fatalf("before setup: %v", err)
	}
	made, err := s.OpenWeb(t.Context(), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.OpenWeb(t.Context(), Choice{NoSetup: true})
	if err != nil || found.Dir != made.Dir || found.Versions["ort"] != "1.2.3" || found.Versions["chromium"] != "4.5.6" || found.Versions["own"] != "" {
		t.Errorf("found %+v (%v), made %+v", found, err, made)
	}
	if info, err := os.Stat(found.Chromium()); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%s cannot be started: %v", found.Chromium(), err)
	}
	for _, name := range []string{"chromium/lib/libnss3.so", "chromium/libvk_swiftshader.so", "node_modules/ort/package.json"} {
		if _, err := os.Stat(filepath.Join(found.Dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(found.Dir, "chromium", "node_modules")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the compressed files are still there (%v)", err)
	}
	if got := s.read("installs"); strings.Count(got, "run") != 2 {
		t.Errorf("npm ran %q, want once for each list", got)
	}
	if left := s.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWebInspect(t *testing.T) {
	t.Parallel()
	s := newWebStage(t)
	w, err := s.SetupWeb(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if damaged, err := s.InspectWeb(w); err != nil || len(damaged) > 0 {
		t.Errorf("a new one is damaged: %v, %v", damaged, err)
	}
	if err := os.WriteFile(filepath.Join(w.Package("ort"), "package.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if damaged, err := s.InspectWeb(w); err != nil || len(damaged) != 1 || damaged[0] != "node_modules/ort/package.json" {
		t.Errorf("an emptied file was not found: %v, %v", damaged, err)
	}
}

func TestWebSetupRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(s *stage)
		kind  Kind
		says  string
	}{
		{"offline", func(s *stage) { s.environ = append(s.environ, "ASSAY_OFFLINE=1") }, Forbidden, "run assay setup web"},
		{"no npm", func(s *stage) { s.environ = append(s.environ, "ASSAY_NPM=/nowhere/npm") }, NoNPM, "install Node.js"},
		{"old npm", func(s *stage) { s.write("npm-version", "6.14.0") }, NoNPM, "npm 6.14.0, and 7.0 or newer"},
		{"broken npm", func(s *stage) { s.write("npm", "#!/bin/sh\nexit 3\n") }, NoNPM, "does not start"},
		{"no network", func(s *stage) { s.write("unreachable", "") }, NoNetwork, "npm's settings"},
		{"not installed", func(s *stage) { s.put("packages/ort/package.json", []byte("{")) }, Failed, "npm did not install ort"},
		{"damaged archive", func(s *stage) { s.put("chromium/"+chromiumPackage+"/bin/chromium.br", []byte("no brotli")) }, Failed, "unpacking chromium.br"},
		{"archive that leaves", func(s *stage) {
			s.put("chromium/"+chromiumPackage+"/bin/al2023.tar.br", compressed(t, archive(t, "../../evil")))
		}, Failed, "not a plain file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newWebStage(t)
			c.spoil(s)
			_, err := s.OpenWeb(t.Context(), Choice{})
			if !IsKind(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.says)
			}
			if left := s.leftovers(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if _, err := s.FindWeb(); !errors.Is(err, ErrNoWeb) {
				t.Errorf("half an environment was found: %v", err)
			}
		})
	}
}

// TestWebSetupOnce: of two that need it at once, one makes it.
func TestWebSetupOnce(t *testing.T) {
	t.Parallel()
	s := newWebStage(t, "slow")
	errs := make(chan error, 2)
	for range 2 {
		go func() { _, err := s.SetupWeb(t.Context()); errs <- err }()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	if got := s.read("installs"); strings.Count(got, "run") != 2 || !strings.Contains(s.told(), "waiting for it") {
		t.Errorf("npm ran %q; said:\n%s", got, s.told())
	}
}

func TestParseLdd(t *testing.T) {
	t.Parallel()
	const out = "\tlinux-vdso.so.1 (0x00007ffc5a5f2000)\n\tlibnspr4.so => not found\n\tlibnss3.so => not found\n" +
		"\tlibexpat.so.1 => /lib/x86_64-linux-gnu/libexpat.so.1 (0x00007f0e5d800000)\n"
	if got := strings.Join(parseLdd(out), " "); got != "libnspr4.so libnss3.so" {
		t.Errorf("got %q", got)
	}
}
