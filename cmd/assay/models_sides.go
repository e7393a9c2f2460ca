package main

import (
	"context"
	"errors"
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

// side is the snapshot that a user named.
func (a *app) side(ctx context.Context, name string, results bool) (snapshot.Snapshot, error) {
	for _, look := range []func(context.Context, string) (snapshot.Snapshot, error){a.sideCatalog, a.sideFile, a.sideRun} {
		s, err := look(ctx, name)
		if errors.Is(err, errOther) {
			continue
		}
		if err == nil && results && s.Outcomes == nil && s.Transformers != "" {
			s.Outcomes, err = a.outcomesOfRelease(ctx, s.Transformers)
		}
		return s, err
	}
	return snapshot.Snapshot{}, usage("%q is neither embedded, installed, a release, a file, a Python, nor a run of the store (see \"assay models diff --help\")", name)
}

// errOther says that a name means something else.
var errOther = errors.New("it is something else")

var releaseName = regexp.MustCompile(`^\d+\.\d+[\w.]*$`)

// sideCatalog is a catalogue by name.
func (a *app) sideCatalog(ctx context.Context, name string) (snapshot.Snapshot, error) {
	embedded, err := catalog.Load()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	switch {
	case name == "embedded" || name == embedded.Transformers:
		return snapshot.OfCatalog(embedded), nil
	case name == "installed":
		return a.sideInstalled(ctx, embedded)
	case !releaseName.MatchString(name) || exists(name):
		return snapshot.Snapshot{}, errOther
	}
	kept, err := a.keptCatalogs()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	of, known, err := kept.Find(embedded, name)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if !known {
		return snapshot.Snapshot{}, usage("the types of transformers %s are not known, only those of %s: name a Python that has it, or a file", name, strings.Join(kept.Releases(embedded), ", "))
	}
	return snapshot.OfCatalog(of), nil
}

// sideInstalled is the catalogue of the environment in use, read now if it was
// not before.
func (a *app) sideInstalled(ctx context.Context, embedded *catalog.Catalog) (snapshot.Snapshot, error) {
	env, err := a.findEnvironment(ctx)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	release := env.Versions["transformers"]
	if release == "" {
		return snapshot.Snapshot{}, usage("%s has no transformers", env.Python)
	}
	kept, err := a.keptCatalogs()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if !slices.Contains(kept.Releases(embedded), release) {
		if err := a.refreshCatalog(ctx); err != nil {
			return snapshot.Snapshot{}, err
		}
	}
	return a.sideCatalog(ctx, release)
}

// maxSnapshot bounds a file: a matrix of every type has some 10 MiB.
const maxSnapshot = 256 << 20

// sideFile is a file that Assay wrote, or else a Python.
func (a *app) sideFile(ctx context.Context, name string) (snapshot.Snapshot, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if strings.HasSuffix(name, ".json") || strings.ContainsRune(name, filepath.Separator) {
			return snapshot.Snapshot{}, usage("there is no %s", name)
		}
		return snapshot.Snapshot{}, errOther
	}
	if err != nil || !info.Mode().IsRegular() {
		return snapshot.Snapshot{}, usage("%s is not a file", name)
	}
	if info.Mode()&0o111 != 0 && filepath.Ext(name) != ".json" {
		other := *a
		other.python, other.found = name, nil
		return other.sideCatalog(ctx, "installed")
	}
	if info.Size() > maxSnapshot {
		return snapshot.Snapshot{}, usage("%s is too large: %d bytes", name, info.Size())
	}
	b, err := input.Read(ctx, name, nil, maxSnapshot)
	if err != nil {
		return snapshot.Snapshot{}, usage("%w", err)
	}
	s, err := snapshot.Read(b)
	if err != nil {
		return s, usage("%s: %w", name, err)
	}
	return s, nil
}

// sideRun are the results of a run.
func (a *app) sideRun(ctx context.Context, name string) (snapshot.Snapshot, error) {
	h, err := a.history()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	outcomes, err := h.OutcomesOfRun(ctx, name)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if outcomes == nil {
		return snapshot.Snapshot{}, errOther
	}
	return snapshot.Snapshot{Schema: cell.Schema, Outcomes: outcomes}, nil
}

func (a *app) outcomesOfRelease(ctx context.Context, release string) ([]snapshot.Outcome, error) {
	h, err := a.history()
	if err != nil {
		return nil, err
	}
	return h.OutcomesOfRelease(ctx, release)
}
