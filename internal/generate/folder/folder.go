// Package folder says which generated files a user's folder should have:
// those of the chosen models, for the platforms that were asked for and those
// that its files know already, and the conftest.py that they share.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/generate/skills"
	"assay/internal/generate/tests"
	"assay/internal/platform"
)

// Folder is where files go, and which of them are wanted.
type Folder struct {
	Dir     string
	Skills  bool // the files are skills, not tests of models
	Missing bool // only models without a file, or with one that lacks an asked platform
	Check   bool // the files are compared, not written
	Usual   bool // the platforms were not named
}

// Model is a model that has files.
type Model struct {
	catalog.Choice
	Test  string       // the one of its files that is a test
	Trial skills.Trial // of a skill, in a browser
}

// Unwritten is a model that has no file, and why.
type Unwritten struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

// Contents is what the folder should have.
type Contents struct {
	Files   []generate.File // of all models, after what they share
	Models  []Model
	Without []Unwritten
}

// Make makes the files of models for platforms.
func (f Folder) Make(cat *catalog.Catalog, chosen []catalog.Choice, on []platform.Name) (Contents, error) {
	shared, err := f.conftest(on)
	if err != nil {
		return Contents{}, err
	}
	out := Contents{Files: []generate.File{shared}}
	for _, ch := range chosen {
		files, m, err := f.makeOne(cat, ch, on)
		switch none := (*noFileError)(nil); {
		case errors.As(err, &none):
			out.Without = append(out.Without, Unwritten{ch.Entry.Type, none.Error()})
		case err != nil:
			return Contents{}, err
		case m.Test != "":
			out.Files, out.Models = append(out.Files, files...), append(out.Models, m)
		}
	}
	if len(out.Models) == 0 && !f.holds("test_*.py") {
		out.Files = nil // conftest.py alone is of no use
	}
	return out, nil
}

// noFileError is why a model has no file: that ends nothing.
type noFileError struct{ error }

// makeOne makes the files of one model; none where they are not wanted.
func (f Folder) makeOne(cat *catalog.Catalog, ch catalog.Choice, on []platform.Name) ([]generate.File, Model, error) {
	if f.Skills {
		return f.makeSkill(cat, ch, on)
	}
	return f.makeTest(cat, ch, on)
}

func (f Folder) makeTest(cat *catalog.Catalog, ch catalog.Choice, on []platform.Name) ([]generate.File, Model, error) {
	on, err := f.wanted(tests.Name(ch.Entry.Type), on)
	if err != nil || len(on) == 0 {
		return nil, Model{}, err
	}
	m, err := tests.Of(cat, ch)
	if err != nil {
		return nil, Model{}, &noFileError{err}
	}
	file, err := tests.File(m, on)
	if long := new(tests.TooLongError); errors.As(err, &long) {
		return nil, Model{}, &noFileError{err}
	}
	return []generate.File{file}, Model{Choice: ch, Test: file.Name}, err
}

func (f Folder) makeSkill(cat *catalog.Catalog, ch catalog.Choice, on []platform.Name) ([]generate.File, Model, error) {
	on, err := f.wanted(skills.Stem(ch.Entry.Type)+".py", skills.Platforms(cat, ch, on))
	if err != nil || len(on) == 0 {
		return nil, Model{}, err
	}
	files, err := skills.Files(cat, ch, on)
	if err != nil {
		return nil, Model{}, &noFileError{err}
	}
	trial, err := skills.TrialOf(cat, ch, on)
	return files, Model{Choice: ch, Test: skills.Test(ch.Entry.Type), Trial: trial}, err
}

// wanted are the platforms that a file is written for: those asked for; with
// Missing also those that it knows, and none where it lacks nothing; with Check,
// where none were named, those that it knows.
func (f Folder) wanted(name string, on []platform.Name) ([]platform.Name, error) {
	if !f.Missing && (!f.Check || !f.Usual) {
		return on, nil
	}
	known, ok, err := f.known(name)
	if err != nil || !ok {
		return on, err
	}
	lacks := slices.ContainsFunc(on, func(n platform.Name) bool { return !slices.Contains(known, n) })
	switch {
	case f.Check && f.Usual:
		return known, nil
	case !lacks:
		return nil, nil
	}
	return append(known, on...), nil
}

// known are the platforms that a file of the folder was written for; ok is false
// where it is not there, or not generated.
func (f Folder) known(name string) (on []platform.Name, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(f.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read what is there already: %w", err)
	}
	stamp, _, ok := generate.Origin(string(text))
	for _, n := range stamp.Platforms {
		on = append(on, platform.Name(n))
	}
	return on, ok, nil
}

// conftest is what the files of the folder share: those that are written now,
// and those that are there. Skills ask little of it; where tests of models are
// beside them, theirs serves both.
func (f Folder) conftest(on []platform.Name) (generate.File, error) {
	if f.Skills && !f.holds("test_hf_*.py") {
		return skills.Conftest()
	}
	known, ok, err := f.known(generate.Conftest)
	if err != nil {
		return generate.File{}, err
	}
	if ok && f.Check && f.Usual {
		on = nil // what the folder's own files know
	}
	return tests.Conftest(append(slices.Clone(on), known...))
}

// holds reports whether files of a pattern are in the folder.
func (f Folder) holds(pattern string) bool {
	there, err := filepath.Glob(filepath.Join(f.Dir, pattern))
	return err == nil && len(there) > 0
}
