package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/generate"
	"assay/internal/generate/skills"
	"assay/internal/generate/tests"
	"assay/internal/platform"
)

// conftest is what the files of the folder share: those that are written now,
// and those that are there. Skills ask little of it; where tests of models are
// beside them, theirs serves both.
func (f *generateFlags) conftest(on []platform.Name) (generate.File, error) {
	if f.skills && !f.holdsTests() {
		return skills.Conftest()
	}
	text, err := os.ReadFile(filepath.Join(f.out, generate.Conftest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return generate.File{}, fmt.Errorf("read what is there already: %w", err)
	}
	stamp, _, ok := generate.Origin(string(text))
	if ok && f.check && f.usual {
		on = nil // what the folder's own files know
	}
	for _, n := range stamp.Platforms {
		on = append(on, platform.Name(n))
	}
	return tests.Conftest(on)
}

// holdsTests reports whether tests of models are in the folder.
func (f *generateFlags) holdsTests() bool {
	there, err := filepath.Glob(filepath.Join(f.out, "test_hf_*.py"))
	return err == nil && len(there) > 0
}
