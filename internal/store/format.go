package store

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
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

// FormatError says that rows cannot be printed in a format.
type FormatError struct{ Format string }

func (e *FormatError) Error() string {
	return fmt.Sprintf("unknown format %q: the formats are text, json, csv, and with --out parquet", e.Format)
}
