package environment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/wholefile"
)

// unpack writes the runner's sources into a folder named by their content and
// returns it. Files that are there with the right content are left alone, so
// it is cheap to call each time and repairs a damaged folder; each file arrives
// by rename, so several processes may do it at once.
func unpack(sources fs.FS, into string) (string, error) {
	files, err := read(sources)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(into, contentHash(files))
	for _, f := range files {
		if err := f.write(dir); err != nil {
			return "", fmt.Errorf("cannot unpack the runner into %s: %w", dir, err)
		}
	}
	return dir, nil
}

type source struct {
	name string // with slashes
	text []byte
}

// read returns the files in the order of their names.
func read(sources fs.FS) ([]source, error) {
	var files []source
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, name)
		files = append(files, source{name, text})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the embedded runner: %w", err)
	}
	return files, nil
}

func contentHash(files []source) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.name, len(f.text))
		h.Write(f.text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (s source) write(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(s.name))
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, s.text) {
		return nil
	}
	return replaceFile(path, s.text)
}

// replaceFile puts a file in its place whole: readers see the old one or the
// new one.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Write(path, text, wholefile.Options{})
}
