package journal

import (
	"errors"
	"fmt"
)

// NewerError says that a file was made by a newer Assay than this one.
type NewerError struct {
	Path   string
	Schema int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was made by a newer Assay (its schema is %d, this one reads up to %d): update Assay to read it",
		e.Path, e.Schema, Schema)
}

// ForeignError says that a file is not a journal.
type ForeignError struct {
	Path string
	Why  string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not a journal of Assay: %s", e.Path, e.Why)
}

// FullError says that the disk has no room for a line. What was acknowledged
// before stands, and the line can be appended again once there is room.
type FullError struct {
	Path string
	Err  error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the disk is full: %s cannot grow; what was finished is kept: free some space and continue with --resume (%v)",
		e.Path, e.Err)
}

func (e *FullError) Unwrap() error { return e.Err }

// BusyError says that another writer has the journal.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is being written by another process: wait until that run has ended", e.Path)
}

// ConflictError says that two versions of the same run disagree.
type ConflictError struct {
	Path, Source string
	What         string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s are of the same run but disagree on %s: nothing was imported; keep the one you trust",
		e.Source, e.Path, e.What)
}

// LongError says that a line would be longer than a reader takes.
type LongError struct {
	ID           string
	Bytes, Limit int
}

func (e *LongError) Error() string {
	return fmt.Sprintf("journal line %s has %d bytes, more than the %d allowed", e.ID, e.Bytes, e.Limit)
}

// Problem is a line, or a whole file, that could not be used. The other lines
// stand.
type Problem struct {
	Path string
	Line int // 0 when it is about the file
	Err  error
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %v", p.Path, p.Err)
	}
	return fmt.Sprintf("%s:%d: %v", p.Path, p.Line, p.Err)
}

func (p Problem) Unwrap() error { return p.Err }

// ErrEmpty says that a journal has no complete header yet: it is just being
// created, or its writer was stopped before anything was finished.
var ErrEmpty = errors.New("the journal is empty")

// errTorn marks a last line without its end: its writer was stopped, or is
// still writing it.
var errTorn = errors.New("the last line is cut short: its writer was stopped while writing it; the lines before it are intact")
