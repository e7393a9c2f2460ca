package store

import "fmt"

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

// plain is an error of a file that is not about what is in it.
func plain(path, text string) error { return fmt.Errorf("open database %s: %s", path, text) }
