//go:build cgo

package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// application marks a database as Assay's own: others have a table called
// schema_version too.
const application = "assay"

// migration takes a database from the version before to its own.
type migration struct {
	version int
	name    string
	sql     string
}

// migrations are all there are, in order; their numbers count up from 1.
func migrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.Atoi(number)
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s is out of order", name)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{n, path.Base(name), string(text)})
	}
	return all, nil
}

// version is that of the database's schema; 0 is a file without any table. A
// database that is not Assay's, or of a newer one, is an error.
func (s *session) version(ctx context.Context) (int, error) {
	tables, ours := 0, 0
	err := s.rows(ctx, func(scan func(...any) error) error { return scan(&tables, &ours) }, `
		SELECT count(DISTINCT table_name), count(*) FILTER (table_name = 'schema_version' AND column_name IN ('application', 'version'))
		FROM duckdb_columns() WHERE NOT internal`)
	if err != nil || tables == 0 {
		return 0, err
	}
	if ours != 2 {
		return 0, &BrokenError{s.path, "it is a DuckDB database, but not one of Assay's"}
	}
	return s.ownVersion(ctx)
}

func (s *session) ownVersion(ctx context.Context) (int, error) {
	var version *int
	err := s.rows(ctx, func(scan func(...any) error) error { return scan(&version) },
		"SELECT max(version) FROM schema_version WHERE application = ?", application)
	if err != nil {
		return 0, err
	}
	if version == nil {
		return 0, &BrokenError{s.path, "it is a DuckDB database, but not one of Assay's"}
	}
	known, err := migrations()
	if err != nil {
		return 0, err
	}
	if *version > len(known) {
		return 0, &NewerError{s.path, fmt.Sprintf("its schema is %d, this one knows up to %d", *version, len(known))}
	}
	return *version, nil
}

// migrate brings the schema up to date, all steps or none.
func (s *session) migrate(ctx context.Context) error {
	at, err := s.version(ctx)
	if err != nil {
		return err
	}
	all, err := migrations()
	if err != nil || at == len(all) {
		return err
	}
	return s.transaction(ctx, func() error {
		err := s.exec(ctx, "CREATE TABLE IF NOT EXISTS schema_version (application VARCHAR, version INTEGER, migration VARCHAR)")
		if err != nil {
			return err
		}
		for _, m := range all[at:] {
			if err := s.apply(ctx, m); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
		}
		return nil
	})
}

func (s *session) apply(ctx context.Context, m migration) error {
	if err := s.exec(ctx, m.sql); err != nil {
		return err
	}
	return s.exec(ctx, "INSERT INTO schema_version VALUES (?, ?, ?)", application, m.version, m.name)
}
