//go:build cgo

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"assay/internal/filelock"
)

// session is the database, open, and the lock that guards it.
type session struct {
	path string
	lock *os.File // nil when the caller holds it
	db   *sql.DB
	conn *sql.Conn
	cut  bool // a call was cut off
}

// settings are what DuckDB is opened with.
type settings struct {
	options map[string]string
	sets    []string // statements for what can only be set once it is open
}

// writing settings let a session do everything but fetch or load extensions:
// all that is needed is linked in.
func writing() settings {
	return settings{
		options: map[string]string{
			"access_mode":                  "READ_WRITE",
			"autoinstall_known_extensions": "false",
			"autoload_known_extensions":    "false",
		},
		// Times in SQL mean the same on every machine.
		sets: []string{"SET GLOBAL TimeZone = 'UTC'", "SET lock_configuration = true"},
	}
}

// inMemory settings are for a database that is not a file. It is filled first, and
// closed to the world after.
func inMemory() settings {
	s := writing()
	delete(s.options, "access_mode")
	s.sets = []string{"SET GLOBAL TimeZone = 'UTC'"}
	return s
}

// reading settings forbid everything but reading the database's own tables.
func reading() settings {
	s := writing()
	s.options["access_mode"] = "READ_ONLY"
	s.options["enable_external_access"] = "false"
	return s
}

// exporting settings let a session write one file besides.
func exporting(path string) settings {
	s := writing()
	s.options["access_mode"] = "READ_ONLY"
	s.sets = append([]string{"SET allowed_paths = [" + literal(path) + "]", "SET enable_external_access = false"}, s.sets...)
	return s
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (s settings) source(path string) string {
	v := url.Values{}
	for name, value := range s.options {
		v.Set(name, value)
	}
	return path + "?" + v.Encode()
}

// openLocked takes the lock and opens the database.
func (s *Store) openLocked(ctx context.Context, m filelock.Mode, set settings) (*session, error) {
	if err := s.recognise(ctx); err != nil {
		return nil, err
	}
	lock, err := s.lock(ctx, m)
	if err != nil {
		return nil, err
	}
	if m == filelock.Exclusive && s.empty() { // DuckDB begins a database only where there is no file
		if err := removeAll(s.path); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	ses, err := s.open(ctx, s.path, set)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	ses.lock = lock
	return ses, nil
}

// open opens a database file, waiting for programs other than Assay that hold
// it.
func (s *Store) open(ctx context.Context, path string, set settings) (*session, error) {
	deadline := time.Now().Add(s.Wait)
	for {
		ses, err := openOnce(ctx, path, set)
		if !errors.Is(err, errHeld) {
			return ses, err
		}
		if time.Now().After(deadline) {
			return nil, &BusyError{path}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func openOnce(ctx context.Context, path string, set settings) (*session, error) {
	c, err := duckdb.NewConnector(set.source(path), nil)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	db := sql.OpenDB(c)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(explain(path, err), db.Close())
	}
	ses := &session{path: path, db: db, conn: conn}
	if err := ses.settle(ctx, set); err != nil {
		return nil, errors.Join(err, ses.Close())
	}
	return ses, nil
}

// settle sets what can only be set now, and then locks it. Sessions of one
// process share the settings of a file that they have open at the same time;
// then another one has done all this already.
func (s *session) settle(ctx context.Context, set settings) error {
	err := s.exec(ctx, strings.Join(set.sets, "; "))
	if err == nil {
		return nil
	}
	locked := false // the last thing set: the others were before it
	other := s.rows(ctx, func(scan func(...any) error) error { return scan(&locked) },
		"SELECT current_setting('lock_configuration')::BOOLEAN")
	if locked {
		return nil
	}
	return errors.Join(err, other)
}

// Close closes the database, then lets the lock go.
func (s *session) Close() error {
	s.uninterrupted()
	err := errors.Join(s.conn.Close(), s.db.Close())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// called notes after a call of DuckDB whether it was cut off.
func (s *session) called(ctx context.Context) { s.cut = s.cut || ctx.Err() != nil }

// uninterrupted takes an interrupt from the connection that came just as its call ended. Closed with one, DuckDB
// keeps the database open behind the connection, and whoever opens it next in this process waits for ever, spinning.
func (s *session) uninterrupted() {
	if s.cut {
		_, _ = s.conn.ExecContext(context.Background(), "SELECT 1") // it is not the answer that counts
	}
}

func (s *session) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, query, args...)
	s.called(ctx)
	return explain(s.path, err)
}

// transaction does all of f or nothing.
func (s *session) transaction(ctx context.Context, f func() error) error {
	if err := s.exec(ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	if err := f(); err != nil {
		// Not with ctx: it may be what ended f.
		return errors.Join(err, s.exec(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return s.exec(ctx, "COMMIT")
}

// rows calls f for each row of a query with a function that scans it.
func (s *session) rows(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	r, err := s.conn.QueryContext(ctx, query, args...)
	s.called(ctx)
	if err != nil {
		return explain(s.path, err)
	}
	defer r.Close()
	for r.Next() {
		if err := f(r.Scan); err != nil {
			return err
		}
	}
	return explain(s.path, r.Err())
}

// unnoticed is how long a call may take without anybody asking why.
const unnoticed = time.Second

func (s *Store) walPath() string { return s.path + ".wal" }

// lock takes the lock beside the database. Closing the file lets it go.
func (s *Store) lock(ctx context.Context, m filelock.Mode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return nil, fmt.Errorf("make the database's folder: %w", err)
	}
	quiet := min(unnoticed, s.Wait/2)
	f, err := filelock.Wait(ctx, s.lockPath(), m, quiet, nil)
	if errors.Is(err, filelock.ErrHeld) {
		if s.Waiting != nil {
			s.Waiting("waiting for another assay that is using " + s.path)
		}
		f, err = filelock.Wait(ctx, s.lockPath(), m, s.Wait-quiet, nil)
	}
	if errors.Is(err, filelock.ErrHeld) {
		return nil, &BusyError{s.path}
	}
	return f, err
}
