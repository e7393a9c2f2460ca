package exports

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/filelock"
)

// Get returns an entry, or an error that says why it cannot be used.
func (c Cache) Get(key string) (Entry, error) {
	if len(key) != keyLetters {
		return Entry{}, fmt.Errorf("%q is not a key of an exported model", key)
	}
	e := read(c.folder(key))
	if e.Broken {
		return e, fmt.Errorf("the exported model %s is not in the cache, or is incomplete", key)
	}
	return e, nil
}

// Copy copies an entry's files and its manifest into a folder, which it makes,
// and returns their names. What was damaged for a check stays in the cache.
func (c Cache) Copy(key, out string) ([]string, error) {
	return c.copy(key, out, func(name string) bool { return !strings.HasPrefix(name, DamagedFolder+"/") })
}

// CopySome copies those of the entry's files that are named.
func (c Cache) CopySome(key, out string, names ...string) ([]string, error) {
	return c.copy(key, out, func(name string) bool { return slices.Contains(names, name) })
}

func (c Cache) copy(key, out string, wanted func(string) bool) ([]string, error) {
	lock, err := c.hold(key, filelock.Shared)
	if err != nil {
		return nil, fmt.Errorf("copy the exported model: %w", err)
	}
	defer lock.Close()
	e, err := c.Get(key)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range append(slices.Sorted(maps.Keys(e.files)), ManifestName) {
		if !wanted(name) {
			continue
		}
		to := filepath.Join(out, filepath.FromSlash(name))
		if err := copyFile(filepath.Join(c.folder(key), filepath.FromSlash(name)), to); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func copyFile(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copy the exported model: %w", err)
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy the exported model: %w", err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("copy the exported model: %w", err)
	}
	if _, err = io.Copy(out, in); err != nil {
		err = fmt.Errorf("copy the exported model: %w", err)
	}
	if closed := out.Close(); err == nil && closed != nil {
		err = fmt.Errorf("copy the exported model: %w", closed)
	}
	if err != nil { // a part of a file is worse than none
		_ = os.Remove(to)
	}
	return err
}
