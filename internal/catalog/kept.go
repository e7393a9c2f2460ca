package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kept is a folder of catalogues: the types of releases of transformers other
// than the embedded one, as they were read before.
type Kept struct{ Dir string }

// Path is where the types of a release are kept.
func (k Kept) Path(release string) string {
	return filepath.Join(k.Dir, "catalog-"+release+".json")
}

// Find is the catalogue of a release: the embedded one or one that is kept. ok is false for a release whose types
// nobody has read.
func (k Kept) Find(embedded *Catalog, release string) (c *Catalog, ok bool, err error) {
	if release == embedded.Transformers {
		return embedded, true, nil
	}
	path := k.Path(release)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	c, err = embedded.WithFile(path)
	return c, err == nil, err
}

// Releases are those whose types are known, the embedded one first.
func (k Kept) Releases(embedded *Catalog) []string {
	out := []string{embedded.Transformers}
	files, _ := filepath.Glob(k.Path("*")) // the pattern is well-formed
	for _, f := range files {
		release := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "catalog-"), ".json")
		if !slices.Contains(out, release) {
			out = append(out, release)
		}
	}
	return out
}
