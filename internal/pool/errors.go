package pool

import "strconv"

// Kind is why a request was refused.
type Kind string

// The kinds, in the words of the Python interface where it has them.
const (
	UnknownModel Kind = "unknown-model"
	Unavailable  Kind = "unavailable" // a device, a library or weights are not here
	Unsupported  Kind = "unsupported" // the model, the platform or the dtype cannot do it anywhere
	BadInput     Kind = "bad-input"
	TooLarge     Kind = "too-large" // it does not fit into the pool's memory
	Broke        Kind = "broke"     // the model's process ended, or its own code failed
	Slow         Kind = "slow"      // it took longer than allowed
)

// RefusedError is a request that cannot be carried out.
type RefusedError struct {
	Kind Kind
	Err  error
}

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// BusyError is a request that may be carried out later.
type BusyError struct {
	Queue   bool // the row is full; otherwise memory is in use
	Why     string
	Seconds int
}

func (e *BusyError) Error() string { return e.Why + ": try again later" }

// RetryAfter is when to come back, in seconds.
func (e *BusyError) RetryAfter() string { return strconv.Itoa(max(1, e.Seconds)) }
