package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"assay/internal/journal"
)

// recognise looks at the file that will be the database before anything is
// made beside it. One that is not Assay's is an error, and stays alone: whoever
// names /etc/passwd by mistake finds no new file in /etc. Where a lock lies
// beside it already, the file was in use as the database before.
func (s *Store) recognise(ctx context.Context) error {
	if s.empty() {
		if found, err := s.anyJournal(); err != nil || found || exists(s.lockPath()) {
			return err
		}
		return fmt.Errorf("%s is an empty file, and there are no results to make a database from: run something with it first, or name another file with --db", s.path)
	}
	if err := s.checkKind(); err != nil || !exists(s.path) || exists(s.lockPath()) {
		return err
	}
	return s.checkOwner(ctx)
}

// Writable reports, as an error, why results may not be put beside the file that
// will be the database: it is not Assay's. An empty one may become so, and one
// of a newer Assay is not a reason not to run.
func (s *Store) Writable(ctx context.Context) error {
	if s.empty() {
		return nil
	}
	err := s.recognise(ctx)
	if newer := (*NewerError)(nil); errors.As(err, &newer) {
		return nil
	}
	return err
}

// empty reports whether there is a file with nothing in it.
func (s *Store) empty() bool {
	info, err := os.Stat(s.path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func (s *Store) anyJournal() (bool, error) {
	files, err := os.ReadDir(s.journals)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the folder of journals: %w", err)
	}
	return slices.ContainsFunc(files, isJournal), nil
}

// checkKind refuses what is no DuckDB file. None at all is not an error.
func (s *Store) checkKind() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return plain(s.path, err.Error())
	}
	if !info.Mode().IsRegular() {
		return &ForeignError{s.path, "it is not a regular file"}
	}
	return s.checkMagic()
}

// magic is what every DuckDB file has at its eighth byte.
const magic = "DUCK"

func (s *Store) checkMagic() error {
	f, err := os.Open(s.path)
	if err != nil {
		return plain(s.path, err.Error())
	}
	defer f.Close()
	b := make([]byte, len(magic))
	if _, err := f.ReadAt(b, 8); err != nil && !errors.Is(err, io.EOF) {
		return plain(s.path, err.Error())
	}
	if string(b) != magic {
		return &ForeignError{s.path, "it is not a DuckDB database"}
	}
	return nil
}

// IsReadOnly reports whether an error says that a folder or a file may not be
// written.
func IsReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func isJournal(f fs.DirEntry) bool {
	return f.Type().IsRegular() && strings.HasSuffix(f.Name(), journal.Extension) && !strings.HasPrefix(f.Name(), ".")
}
