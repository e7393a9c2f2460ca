// Package store is the database: a DuckDB file that indexes a folder of
// journals, so that results can be asked for in SQL.
//
// The journals are the truth. The database can be deleted and rebuilt at any
// time, and holds nothing of its own. That is what makes it simple: Sync loads
// what the journals have grown by since it last looked, in one transaction;
// Rebuild starts from nothing and must produce the same rows.
//
// While one process holds a DuckDB file open for writing no other may even
// read it, so nobody holds it for long. Every use takes a lock on a file beside
// the database (shared to read, exclusive to write), opens, does its work, reads
// the rows into memory and closes. A sweep never opens it: it writes its
// journal, and a query syncs first.
//
// Queries are read-only three times over: by the kind of statement, by the
// mode in which the file is opened, and because the session may touch no other
// file.
//
// DuckDB needs cgo. A program built without it has the same Store, in
// journals.go, which reads the journals themselves: everything that Assay asks
// of past results works, more slowly, and what is asked in SQL is a *MissingError.
// Files with the constraint cgo are the index; the others are common to both.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Store is a database and the folder of journals it indexes. It holds no open
// file between calls; its methods may be used from several goroutines and
// several processes at once.
type Store struct {
	path     string
	journals string

	// Wait is how long a call waits while others use the database.
	Wait time.Duration
	// Notice, if not nil, is told what Query has as notes: what is not in the
	// answer, and why.
	Notice func(message string)
	// Waiting, if not nil, is told in a sentence when a call has to wait for long
	// enough to be noticed.
	Waiting func(message string)
}

// DefaultWait is long enough for a large sync by another process.
const DefaultWait = 15 * time.Second

// Open names a database file and its folder of journals. Nothing is opened or
// made until it is used.
func Open(path, journals string) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the database: %w", err)
	}
	// The driver takes its settings behind the path, as in a URL.
	if strings.ContainsAny(abs, "?#%") {
		return nil, fmt.Errorf("the database's path %s contains one of ? # %%, which DuckDB's driver cannot handle: name another with --db", abs)
	}
	return &Store{path: abs, journals: journals, Wait: DefaultWait}, nil
}

// Path is the database file.
func (s *Store) Path() string { return s.path }

// Journals is the folder of journals.
func (s *Store) Journals() string { return s.journals }

// Empty reports whether there is nothing that could be asked for: no database
// and no journals.
func (s *Store) Empty() (bool, error) {
	if exists(s.path) {
		return false, nil
	}
	files, err := os.ReadDir(s.journals)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(files) == 0, err
}

func (s *Store) lockPath() string { return s.path + ".lock" }

func (s *Store) tell(notes []string) {
	if s.Notice == nil {
		return
	}
	for _, n := range notes {
		s.Notice(n)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
