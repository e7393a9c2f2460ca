//go:build cgo

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"assay/internal/filelock"
	"assay/internal/wholefile"
)

// name is what a table or a view may be called, as against a question.
var name = regexp.MustCompile(`^\w+$`)

// Export writes a table, a view or the answer to a question into a file, after
// a sync. The file appears whole or not at all.
func (s *Store) Export(ctx context.Context, what string, f Format, path string) error {
	if f != Parquet && f != CSV {
		return fmt.Errorf("unknown format %q: the formats are parquet, csv", f)
	}
	query := what
	if name.MatchString(what) {
		query = `SELECT * FROM "` + what + `"`
	}
	write := s.writeParquet
	if f == CSV {
		write = s.writeCSV
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return wholefile.Make(abs, wholefile.Options{Mode: 0o644}, func(temp string) error { return write(ctx, query, temp) })
}

func (s *Store) writeCSV(ctx context.Context, query, path string) error {
	rows, err := s.Query(ctx, query)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(rows.WriteCSV(f), f.Sync(), f.Close())
}

// writeParquet has DuckDB write the file, in a session that may write this one
// and touch no other.
func (s *Store) writeParquet(ctx context.Context, query, path string) (err error) {
	if err := s.ask(ctx, query, func(*session, []string) error { return nil }); err != nil {
		return err
	}
	// Alone: sessions that read at the same time would share these settings.
	ses, err := s.openLocked(ctx, filelock.Exclusive, exporting(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	err = ses.exec(ctx, fmt.Sprintf("COPY (SELECT * FROM query(%s)) TO %s (FORMAT parquet, USE_TMP_FILE false)", literal(query), literal(path)))
	if err != nil {
		return fmt.Errorf("export: %w", ofQuestion(err))
	}
	return nil
}
