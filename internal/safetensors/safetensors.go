// Package safetensors reads what safetensors files say about themselves, without
// their data: the header of a file (header.go) and the index of a checkpoint
// in several files (index.go).
//
// A file is eight bytes with the header's length, the header (a JSON object:
// tensor name → dtype, shape and place), and the data. Everything in the header
// comes from somebody else, so it is checked against the format and against the
// size of the file before a library maps it: a file that was cut short, a length that
// lies, tensors that overlap. What is wrong becomes a clear error, and reading
// a header never takes more memory than the format's own limit on its length.
package safetensors

import "fmt"

// MaxHeader is the most bytes that the format allows a header to have.
const MaxHeader = 100_000_000

// Error says what is wrong with a file, in a sentence that begins with its path.
type Error struct {
	Path   string
	Reason string
	// Cut says that the file is shorter than its header says: it was not
	// loaded whole.
	Cut bool
}

func (e *Error) Error() string { return e.Path + " " + e.Reason }

func wrong(format string, args ...any) *Error { return &Error{Reason: fmt.Sprintf(format, args...)} }
