package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// NewerError says that the database was made by a newer Assay.
type NewerError struct {
	Path string
	Why  string
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was made by a newer Assay (%s): update Assay, or name another database with --db", e.Path, e.Why)
}

// BrokenError says that the file cannot be used as the database: it is
// damaged, or something else altogether.
type BrokenError struct {
	Path string
	Why  string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s cannot be used: %s; run `assay db rebuild`, which sets this file aside and makes the database again from the journals, or name another file with --db",
		e.Path, e.Why)
}

// ForeignError says that the file is not a database at all. It is somebody's, so
// nothing is done with it, and a rebuild would do nothing either.
type ForeignError struct {
	Path string
	Why  string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s cannot be used: %s; it is left unchanged: name another file with --db, or move this one away", e.Path, e.Why)
}

// BusyError says that others kept the database for longer than was waited.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s has been in use by another program for a long time: close it, or try again later", e.Path)
}

// StatementError says that a statement is not one that a question may be.
type StatementError struct{ Why string }

func (e *StatementError) Error() string {
	return "only read-only queries are allowed: " + e.Why
}

// SQLError says that a question cannot be asked: its words, its names or its
// types are wrong.
type SQLError struct{ err error }

func (e *SQLError) Error() string { return e.err.Error() }

func (e *SQLError) Unwrap() error { return e.err }

// wrongSQL are the errors of a statement itself.
var wrongSQL = map[duckdb.ErrorType]bool{
	duckdb.ErrorTypeParser: true, duckdb.ErrorTypeSyntax: true, duckdb.ErrorTypeBinder: true, duckdb.ErrorTypeCatalog: true,
	duckdb.ErrorTypeConversion: true, duckdb.ErrorTypeInvalidInput: true,
}

// ofQuestion tells what is wrong with a question from a database that cannot
// answer it.
func ofQuestion(err error) error {
	if e := (*duckdb.Error)(nil); errors.As(err, &e) && wrongSQL[e.Type] {
		return &SQLError{err}
	}
	return err
}

// errHeld is DuckDB's own lock on the file, held by a program that is not
// Assay, such as DuckDB's shell.
var errHeld = errors.New("the database file is locked")

// openings tells, by DuckDB's words, what an error while opening means.
var openings = []struct {
	words string
	means func(path, text string) error
}{
	{"Could not set lock on file", held},
	{"Conflicting lock", held},
	{"being used by another process", held},
	{"newer version of DuckDB", newer},
	{"Trying to read a database file with version number", newer},
	{"sqlite_scanner", other},
	{"Loading external extensions is disabled", other},
	{"Permission denied", plain},
	{"No space left", plain},
	{"Cannot open file", plain},
}

func held(string, string) error     { return errHeld }
func newer(path, text string) error { return &NewerError{path, text} }
func other(path, _ string) error {
	return &BrokenError{path, "it is the file of another database program"}
}
func plain(path, text string) error       { return fmt.Errorf("open database %s: %s", path, text) }
func broken(path string, err error) error { return &BrokenError{path, message(err)} }

// explainOpen turns an error of opening a file into one that a user can act on.
func explainOpen(path string, err error) error {
	text := message(err)
	for _, o := range openings {
		if strings.Contains(text, o.words) {
			return o.means(path, text)
		}
	}
	if e := (*duckdb.Error)(nil); !errors.As(err, &e) || !damage[e.Type] {
		return plain(path, text)
	}
	return broken(path, err)
}

// damage are the kinds of errors that a sound file never gives.
var damage = map[duckdb.ErrorType]bool{
	duckdb.ErrorTypeIO:            true,
	duckdb.ErrorTypeSerialization: true,
	duckdb.ErrorTypeFatal:         true,
	duckdb.ErrorTypeInternal:      true,
}

// explain does the same for an error of an open database.
func explain(path string, err error) error {
	var e *duckdb.Error
	if !errors.As(err, &e) {
		return err
	}
	if strings.Contains(e.Msg, "No space left") {
		return plain(path, message(err))
	}
	if damage[e.Type] {
		return broken(path, err)
	}
	return err
}

// message is the first line of DuckDB's own words.
func message(err error) string {
	text := err.Error()
	if e := (*duckdb.Error)(nil); errors.As(err, &e) {
		text = e.Msg
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}
