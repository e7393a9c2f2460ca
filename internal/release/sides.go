package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/input"
	"assay/internal/snapshot"
)

// Sides finds what users name to be compared.
type Sides struct {
	InUse *InUse
	// Other is another environment, by its Python.
	Other func(python string) (*InUse, error)
	Past  Outcomes
}

// Outcomes are what sweeps said about models; nil where there was none.
type Outcomes interface {
	OutcomesOfRun(ctx context.Context, run string) ([]snapshot.Outcome, error)
	OutcomesOfRelease(ctx context.Context, release string) ([]snapshot.Outcome, error)
}

// SideError is a name that means nothing that could be compared.
type SideError struct{ Err error }

func (e *SideError) Error() string { return e.Err.Error() }
func (e *SideError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error { return &SideError{fmt.Errorf(format, args...)} }

// Find is the snapshot that a user named: a catalogue by name, a file, a Python,
// or a run; with results, the store's results of its release too.
func (s Sides) Find(ctx context.Context, name string, results bool) (snapshot.Snapshot, error) {
	for _, look := range []func(context.Context, string) (snapshot.Snapshot, error){s.ofCatalog, s.ofFile, s.ofRun} {
		found, err := look(ctx, name)
		if errors.Is(err, errOther) {
			continue
		}
		if err == nil && results && found.Outcomes == nil && found.Transformers != "" {
			found.Outcomes, err = s.Past.OutcomesOfRelease(ctx, found.Transformers)
		}
		return found, err
	}
	return snapshot.Snapshot{}, refuse("%q is neither embedded, installed, a release, a file, a Python, nor a run of the store (see \"assay models diff --help\")", name)
}

// The names of catalogues that are not releases.
const (
	Embedded  = "embedded"
	Installed = "installed"
)

// Present is the installed catalogue, or the embedded one where no environment is.
func (s Sides) Present(ctx context.Context, results bool) (snapshot.Snapshot, error) {
	if s.InUse.Name(ctx) == "" {
		return s.Find(ctx, Embedded, results)
	}
	return s.Find(ctx, Installed, results)
}

// errOther says that a name means something else.
var errOther = errors.New("it is something else")

var releaseName = regexp.MustCompile(`^\d+\.\d+[\w.]*$`)

// ofCatalog is a catalogue by name.
func (s Sides) ofCatalog(ctx context.Context, name string) (snapshot.Snapshot, error) {
	embedded, err := catalog.Load()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	switch {
	case name == Embedded || name == embedded.Transformers:
		return snapshot.OfCatalog(embedded), nil
	case name == Installed:
		return s.ofInstalled(ctx, embedded)
	case !releaseName.MatchString(name) || exists(name):
		return snapshot.Snapshot{}, errOther
	}
	of, known, err := s.InUse.Kept.Find(embedded, name)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if !known {
		return snapshot.Snapshot{}, refuse("the types of transformers %s are not known, only those of %s: name a Python that has it, or a file", name, strings.Join(s.InUse.Kept.Releases(embedded), ", "))
	}
	return snapshot.OfCatalog(of), nil
}

// ofInstalled is the catalogue of the environment in use, read now if it was
// not before.
func (s Sides) ofInstalled(ctx context.Context, embedded *catalog.Catalog) (snapshot.Snapshot, error) {
	env, err := s.InUse.Environment(ctx)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	release := env.Versions["transformers"]
	if release == "" {
		return snapshot.Snapshot{}, refuse("%s has no transformers", env.Python)
	}
	if !slices.Contains(s.InUse.Kept.Releases(embedded), release) {
		if err := s.InUse.Refresh(ctx); err != nil {
			return snapshot.Snapshot{}, err
		}
	}
	return s.ofCatalog(ctx, release)
}

// maxSnapshot bounds a file: a matrix of every type has some 10 MiB.
const maxSnapshot = 256 << 20

// ofFile is a file that Assay wrote, or else a Python.
func (s Sides) ofFile(ctx context.Context, name string) (snapshot.Snapshot, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if strings.HasSuffix(name, ".json") || strings.ContainsRune(name, filepath.Separator) {
			return snapshot.Snapshot{}, refuse("there is no %s", name)
		}
		return snapshot.Snapshot{}, errOther
	}
	if err != nil || !info.Mode().IsRegular() {
		return snapshot.Snapshot{}, refuse("%s is not a file", name)
	}
	if info.Mode()&0o111 != 0 && filepath.Ext(name) != ".json" {
		return s.ofPython(ctx, name)
	}
	if info.Size() > maxSnapshot {
		return snapshot.Snapshot{}, refuse("%s is too large: %d bytes", name, info.Size())
	}
	b, err := input.Read(ctx, name, nil, maxSnapshot)
	if err != nil {
		return snapshot.Snapshot{}, refuse("%w", err)
	}
	found, err := snapshot.Read(b)
	if err != nil {
		return found, refuse("%s: %w", name, err)
	}
	return found, nil
}

// ofPython is the catalogue of another environment.
func (s Sides) ofPython(ctx context.Context, python string) (snapshot.Snapshot, error) {
	other, err := s.Other(python)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	return Sides{InUse: other, Other: s.Other, Past: s.Past}.ofCatalog(ctx, Installed)
}

// ofRun are the results of a run.
func (s Sides) ofRun(ctx context.Context, name string) (snapshot.Snapshot, error) {
	outcomes, err := s.Past.OutcomesOfRun(ctx, name)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if outcomes == nil {
		return snapshot.Snapshot{}, errOther
	}
	return snapshot.Snapshot{Schema: cell.Schema, Outcomes: outcomes}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
