package store

// Limits are those of an answer to somebody who may ask anything.
type Limits struct {
	Rows   int    // how many there may be
	Bytes  int    // how many the JSON may take
	Memory string // what DuckDB may take, in its words, such as 512MiB
}

// LimitError says that an answer would pass one of the limits. It was given up there.
type LimitError struct{ Why string }

func (e *LimitError) Error() string {
	return e.Why + ": ask for less, such as with LIMIT or fewer columns"
}
