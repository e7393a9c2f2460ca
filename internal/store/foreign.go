package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// recognise looks at the file that is to be the database before anything is
// made beside it. One that is not Assay's is an error, and stays alone: whoever
// names /etc/passwd by mistake finds no new file in /etc. Where a lock lies
// beside it already, the file was in use as the database before.
func (s *Store) recognise(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return plain(s.path, err.Error())
	}
	if !info.Mode().IsRegular() {
		return &BrokenError{s.path, "it is not a regular file"}
	}
	if info.Size() == 0 { // DuckDB begins a database in it
		return nil
	}
	if err := s.checkMagic(); err != nil || exists(s.lockPath()) {
		return err
	}
	return s.checkOwner(ctx)
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
		return &BrokenError{s.path, "it is not a DuckDB database"}
	}
	return nil
}

// checkOwner asks the file itself, read-only. What else is wrong with it is told
// by whoever opens it next.
func (s *Store) checkOwner(ctx context.Context) error {
	ses, opened := openOnce(ctx, s.path, reading())
	if opened == nil {
		_, err := ses.version(ctx)
		if foreign := (*BrokenError)(nil); errors.As(err, &foreign) {
			return errors.Join(err, ses.Close())
		}
		return ses.Close()
	}
	return nil
}

// IsReadOnly reports whether an error says that a folder or a file may not be
// written.
func IsReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// readInMemory makes the database in memory, from the journals: where nothing
// may be written they can still be asked.
func (s *Store) readInMemory(ctx context.Context) (*session, []string, error) {
	ses, err := openOnce(ctx, "", inMemory())
	if err != nil {
		return nil, nil, err
	}
	_, err = s.load(ctx, ses)
	if err == nil {
		err = ses.exec(ctx, "SET enable_external_access = false; SET lock_configuration = true")
	}
	if err != nil {
		return nil, nil, errors.Join(err, ses.Close())
	}
	return s.withNotes(ctx, ses, []string{"the database cannot be written, so the journals were read for this answer alone"})
}
