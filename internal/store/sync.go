//go:build cgo

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"assay/internal/filelock"
)

// Sync loads what the journals have grown by since the last one, all of it or
// nothing. The database is made when there is none.
func (s *Store) Sync(ctx context.Context) (done Synced, err error) {
	ses, err := s.openLocked(ctx, filelock.Exclusive, writing())
	if err != nil {
		return Synced{}, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	return s.load(ctx, ses)
}

func (s *Store) load(ctx context.Context, ses *session) (Synced, error) {
	if err := ses.migrate(ctx); err != nil {
		return Synced{}, err
	}
	changed, err := s.changes(ctx, ses)
	if err != nil || len(changed) == 0 {
		return Synced{}, err
	}
	l := loader{ses: ses, dir: s.journals}
	err = ses.transaction(ctx, func() error {
		for _, c := range changed {
			if err := l.load(ctx, c); err != nil {
				return err
			}
		}
		return l.flush()
	})
	if err != nil {
		return Synced{}, err
	}
	return l.done, nil
}

// entry is what the database knows of a journal.
type entry struct {
	file  string
	runID string // "" when it could not be read
	size  int64
	bytes int64
	lines int
	tail  string
}

// change is a journal that is not as the database knows it.
type change struct {
	entry       // as known; zero for a new one
	now   int64 // its size; -1 when it is gone
	lost  bool  // it is damaged, and rows of lines that it has lost are kept
}

// changes compares the folder with the database.
func (s *Store) changes(ctx context.Context, ses *session) ([]change, error) {
	known, err := ses.entries(ctx)
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(s.journals)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the folder of journals: %w", err)
	}
	var out []change
	for _, f := range files {
		if !isJournal(f) {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at journal: %w", err)
		}
		e, ok := known[f.Name()]
		delete(known, f.Name())
		if !ok || e.size != info.Size() {
			e.file = f.Name()
			out = append(out, change{entry: e, now: info.Size()})
		}
	}
	for _, gone := range known {
		out = append(out, change{entry: gone, now: -1})
	}
	slices.SortFunc(out, func(a, b change) int { return strings.Compare(a.file, b.file) })
	return out, nil
}

func (s *session) entries(ctx context.Context) (map[string]entry, error) {
	out := map[string]entry{}
	err := s.rows(ctx, func(scan func(...any) error) error {
		var e entry
		err := scan(&e.file, &e.runID, &e.size, &e.bytes, &e.lines, &e.tail)
		out[e.file] = e
		return err
	}, "SELECT file, coalesce(run_id, ''), size, bytes, lines, tail FROM journals")
	return out, err
}

// tailBytes is how much before an offset decides whether a journal only grew.
const tailBytes = 4096

// tail is the hash of the last bytes before an offset.
func tail(path string, offset int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	n := min(offset, tailBytes)
	b := make([]byte, n)
	if _, err := f.ReadAt(b, offset-n); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}
