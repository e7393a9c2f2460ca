//go:build cgo

package store

import (
	"errors"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// wrongSQL are the errors of a statement itself.
var wrongSQL = map[duckdb.ErrorType]bool{
	duckdb.ErrorTypeParser: true, duckdb.ErrorTypeSyntax: true, duckdb.ErrorTypeBinder: true, duckdb.ErrorTypeCatalog: true,
	duckdb.ErrorTypeConversion: true, duckdb.ErrorTypeInvalidInput: true, duckdb.ErrorTypeOutOfRange: true, duckdb.ErrorTypeNotImplemented: true,
	duckdb.ErrorTypeExpression: true, duckdb.ErrorTypeMismatchType: true, duckdb.ErrorTypeDivideByZero: true, duckdb.ErrorTypeInvalidType: true,
	duckdb.ErrorTypeParameterNotResolved: true, duckdb.ErrorTypeParameterNotAllowed: true, duckdb.ErrorTypeMissingExtension: true,
	duckdb.ErrorTypeSequence: true, duckdb.ErrorTypeSettings: true, duckdb.ErrorTypeTransaction: true, duckdb.ErrorTypeInvalidConfiguration: true,
}

// ofQuestion tells what is wrong with a question from a database that cannot
// answer it.
func ofQuestion(err error) error {
	e := (*duckdb.Error)(nil)
	switch {
	case err != nil && strings.Contains(err.Error(), "unsupported data type"): // the driver's own words, which have no type
		return &SQLError{errors.New("the answer has a column of a type that cannot be shown: cast it, such as with ::VARCHAR")}
	case !errors.As(err, &e):
		return err
	case e.Type == duckdb.ErrorTypePermission:
		return &StatementError{"SQL may read and write no file but the database"}
	case e.Type == duckdb.ErrorTypeOutOfMemory:
		return &LimitError{"the question takes more memory than it may have"}
	case wrongSQL[e.Type]:
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
