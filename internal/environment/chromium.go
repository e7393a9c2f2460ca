package environment

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/andybalholm/brotli"
)

const (
	chromiumFolder  = "chromium"
	chromiumProgram = "headless_shell"
	chromiumPackage = "@sparticuz/chromium"
	libraryFolder   = "lib" // of the archive of libraries
)

// packedFiles are the compressed files of the package and what becomes of each.
var packedFiles = []struct {
	name   string
	unpack func(r io.Reader, dir string) error
}{
	{"chromium.br", unpackProgram},
	{"swiftshader.tar.br", unpackTar}, // the software adapter, and its Vulkan loader
	{"al2023.tar.br", unpackTar},      // libraries for systems that lack them
}

// unpackChromium turns the package that npm installed in a folder into a
// browser that can be started, and removes the package.
func unpackChromium(dir string) error {
	modules := filepath.Join(dir, "node_modules")
	for _, f := range packedFiles {
		err := decompress(filepath.Join(modules, filepath.FromSlash(chromiumPackage), "bin", f.name), dir, f.unpack)
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", f.name, err)
		}
	}
	return os.RemoveAll(modules)
}

func decompress(path, dir string, unpack func(io.Reader, string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unpack(brotli.NewReader(f), dir)
}

func unpackProgram(r io.Reader, dir string) error {
	return writeFile(filepath.Join(dir, chromiumProgram), r, 0o755)
}

// unpackTar writes the regular files of an archive, and nothing outside dir.
func unpackTar(r io.Reader, dir string) error {
	archive := tar.NewReader(r)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag == tar.TypeDir {
			continue
		}
		if head.Typeflag != tar.TypeReg || !filepath.IsLocal(head.Name) {
			return fmt.Errorf("%q is not a plain file of the archive's own", head.Name)
		}
		path := filepath.Join(dir, head.Name) //nolint:gosec // the name is local: see above
		if err := writeFile(path, archive, head.FileInfo().Mode().Perm()|0o600); err != nil {
			return err
		}
	}
}

func writeFile(path string, r io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// ChromiumEnv returns the variables that the packed Chromium needs here: where
// the libraries lie that this system lacks.
func (w Web) ChromiumEnv(ctx context.Context) []string {
	missing, err := w.MissingLibraries(ctx)
	if err != nil || len(missing) == 0 {
		return nil
	}
	return []string{"LD_LIBRARY_PATH=" + w.Libraries()}
}

// Libraries returns the search path with the libraries packed with Chromium.
func (w Web) Libraries() string {
	path := filepath.Join(w.Dir, chromiumFolder, libraryFolder)
	if old := lookup(w.environ)("LD_LIBRARY_PATH"); old != "" {
		path += ":" + old
	}
	return path
}

// MissingLibraries returns the shared libraries that the packed Chromium needs
// and this system does not have.
func (w Web) MissingLibraries(ctx context.Context) ([]string, error) {
	return w.lacking(ctx, w.environ)
}

// UnmetLibraries returns those that are neither of the system nor packed:
// without them the packed Chromium does not start.
func (w Web) UnmetLibraries(ctx context.Context) ([]string, error) {
	return w.lacking(ctx, overlay(w.environ, map[string]string{"LD_LIBRARY_PATH": w.Libraries()}))
}

// lacking asks the system's own loader.
func (w Web) lacking(ctx context.Context, environ []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ldd", w.Chromium())
	cmd.Env = environ
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ldd could not look at Chromium's libraries: %w", err)
	}
	return parseLdd(string(out)), nil
}

var notFound = regexp.MustCompile(`(?m)^\s*(\S+) => not found`)

// parseLdd returns the libraries that ldd did not find.
func parseLdd(out string) []string {
	var names []string
	for _, m := range notFound.FindAllStringSubmatch(out, -1) {
		names = append(names, m[1])
	}
	return names
}
