//go:build cgo

package store

import (
	"context"
	"errors"
	"strings"
)

// checkOwner asks the file itself, read-only. One that cannot be asked is not
// known to be Assay's.
func (s *Store) checkOwner(ctx context.Context) error {
	ses, err := s.open(ctx, s.path, reading())
	if err != nil {
		return err
	}
	_, err = ses.version(ctx)
	return errors.Join(err, ses.Close())
}

// readInMemory makes the database in memory, from the journals: where nothing
// may be written they can still be asked.
func (s *Store) readInMemory(ctx context.Context, change func(settings) settings) (*session, []string, error) {
	ses, err := openOnce(ctx, "", inMemory())
	if err != nil {
		return nil, nil, err
	}
	_, err = s.load(ctx, ses)
	if err == nil {
		err = ses.exec(ctx, strings.Join(change(settings{sets: []string{"SET enable_external_access = false", "SET lock_configuration = true"}}).sets, "; "))
	}
	if err != nil {
		return nil, nil, errors.Join(err, ses.Close())
	}
	return s.withNotes(ctx, ses, []string{"the database cannot be written, so the journals were read just for this answer"})
}
