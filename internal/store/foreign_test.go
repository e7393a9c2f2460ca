//go:build cgo

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that is no DuckDB database is nobody's to move: neither a question nor
// a rebuild touches it or makes anything beside it, and none is advised.
func TestOtherProgramsFiles(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]string{
		"text":   "hello, I am no database\n",
		"sqlite": "SQLite format 3\x00" + strings.Repeat("x", 200),
		"short":  "x",
	} {
		s := newStore(t)
		write(t, s, "a", result(0))
		must(t, os.WriteFile(s.Path(), []byte(bytes), 0o644))
		_, asked := s.Query(t.Context(), "FROM results")
		_, synced := s.Sync(t.Context())
		_, rebuilt := s.Rebuild(t.Context())
		for _, err := range []error{asked, synced, rebuilt, s.Writable(t.Context())} {
			if other := (*ForeignError)(nil); !errors.As(err, &other) || strings.Contains(err.Error(), "rebuild") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if readFile(t, s.Path()) != bytes {
			t.Errorf("%s: the file was changed", name)
		}
		if left, err := filepath.Glob(s.Path() + ".*"); err != nil || len(left) != 0 {
			t.Errorf("%s: made beside it: %v %v", name, left, err)
		}
	}
}

// An empty file becomes the database once there are results, and not before.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	must(t, os.WriteFile(s.Path(), nil, 0o644))
	if _, err := s.Query(t.Context(), "FROM results"); err == nil || !strings.Contains(err.Error(), "is an empty file") {
		t.Errorf("%v", err)
	}
	if exists(s.lockPath()) || readFile(t, s.Path()) != "" {
		t.Error("something was made of it")
	}
	must(t, s.Writable(t.Context()))
	write(t, s, "a", result(0))
	if got := answer(t, s, "SELECT id FROM results"); got != "id\na.1\n" {
		t.Error(got)
	}
	must(t, os.Truncate(s.Path(), 0))
	done, err := s.Rebuild(t.Context())
	must(t, err)
	if got := answer(t, s, "SELECT id FROM results"); got != "id\na.1\n" || done.Aside != "" {
		t.Errorf("rebuilt: %s, %+v", got, done)
	}
}

// Results may go beside a database of Assay's, whatever its version, and beside
// none; another program's gets none.
func TestWritable(t *testing.T) {
	t.Parallel()
	for statements, may := range map[string]bool{
		"":                                 true,
		"CREATE TABLE cats (name VARCHAR)": false,
		"CREATE TABLE schema_version (application VARCHAR, version INTEGER, migration VARCHAR); INSERT INTO schema_version VALUES ('assay', 99, 'x')": true,
	} {
		s := newStore(t)
		if statements != "" {
			foreign(t, s, statements)
		}
		if err := s.Writable(t.Context()); (err == nil) != may {
			t.Errorf("%q: %v", statements, err)
		}
		if exists(s.lockPath()) {
			t.Errorf("%q: a lock was made", statements)
		}
	}
}
