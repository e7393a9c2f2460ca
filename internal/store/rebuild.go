//go:build cgo

package store

import (
	"assay/internal/journal"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assay/internal/filelock"
)

// Rebuild makes the database again from the journals, and only then puts it in
// the place of the old one. A file there that is damaged or not Assay's is kept
// under another name; one made by a newer Assay, and one that is no DuckDB file,
// are left alone and are errors.
// Without any journal there is nothing to make it from, and a file there is not
// touched: it may be anything.
func (s *Store) Rebuild(ctx context.Context) (done Rebuilt, err error) {
	if found, err := filepath.Glob(filepath.Join(s.journals, "*"+journal.Extension)); err != nil || len(found) == 0 && exists(s.path) {
		return Rebuilt{}, errors.Join(err, fmt.Errorf("there are no journals in %s to make %s from, so it is left unchanged: move it away if you do not want it", s.journals, s.path))
	}
	if !s.empty() {
		if err := s.checkKind(); err != nil {
			return Rebuilt{}, err
		}
	}
	lock, err := s.lock(ctx, filelock.Exclusive)
	if err != nil {
		return Rebuilt{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	useless := (*BrokenError)(nil)
	if err := s.inspect(ctx); err != nil && !errors.As(err, &useless) {
		return Rebuilt{}, err
	}
	fresh := s.path + ".new"
	done.Synced, err = s.build(ctx, fresh)
	if err != nil {
		return Rebuilt{}, errors.Join(err, removeAll(fresh, fresh+".wal"))
	}
	if useless != nil {
		if done.Aside, err = s.setAside(); err != nil {
			return Rebuilt{}, err
		}
	}
	// A log left by a killed process belongs to the old file only.
	if err := removeAll(s.walPath()); err != nil {
		return Rebuilt{}, err
	}
	return done, os.Rename(fresh, s.path)
}

// inspect says what is wrong with the file there is, if any.
func (s *Store) inspect(ctx context.Context) error {
	if !exists(s.path) || s.empty() {
		return nil
	}
	ses, err := s.open(ctx, s.path, writing())
	if err != nil {
		return err
	}
	_, err = ses.version(ctx)
	return errors.Join(err, ses.Close())
}

func (s *Store) build(ctx context.Context, path string) (done Synced, err error) {
	if err := removeAll(path, path+".wal"); err != nil {
		return Synced{}, err
	}
	ses, err := s.open(ctx, path, writing())
	if err != nil {
		return Synced{}, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	return s.load(ctx, ses)
}

// setAside renames the file and its log, never over another file.
func (s *Store) setAside() (string, error) {
	aside := s.path + ".broken-" + time.Now().UTC().Format("20060102T150405Z")
	for n := 2; exists(aside); n++ {
		aside = fmt.Sprintf("%s.broken-%s-%d", s.path, time.Now().UTC().Format("20060102T150405Z"), n)
	}
	if err := os.Rename(s.path, aside); err != nil {
		return "", err
	}
	if err := os.Rename(s.walPath(), aside+".wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return aside, nil
}

func removeAll(paths ...string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
