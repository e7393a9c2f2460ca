package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"assay/internal/filelock"
	"assay/internal/wholefile"
)

// Format is a file format of Export.
type Format string

// The formats.
const (
	Parquet Format = "parquet"
	CSV     Format = "csv"
)

// FileFormat is the format that a user named, or that the ending of a file's name
// means.
func FileFormat(format, path string) (Format, error) {
	f := Format(cmp.Or(format, strings.TrimPrefix(filepath.Ext(path), ".")))
	if f != CSV && f != Parquet {
		return f, fmt.Errorf("unknown format %q: a file is .csv or .parquet", f)
	}
	return f, nil
}

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
