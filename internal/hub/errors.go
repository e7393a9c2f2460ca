package hub

import (
	"errors"
	"fmt"
	"strconv"
)

// Kind says what a user can do about an Error.
type Kind string

// The kinds of Error.
const (
	BadName     Kind = "bad-name"    // what was given is not a model's name
	BadSetting  Kind = "bad-setting" // a variable of the environment says nothing usable
	NotFound    Kind = "not-found"
	Gated       Kind = "gated"       // its terms must be accepted first
	Refused     Kind = "refused"     // the token is missing, wrong, or not enough
	Offline     Kind = "offline"     // not in the cache, and the network is forbidden
	Unreachable Kind = "unreachable" // no connection, or a server that only fails
	NoSpace     Kind = "no-space"
	Disk        Kind = "disk"       // what was loaded cannot be written or read
	Damaged     Kind = "damaged"    // bytes that are not what was published, or a file that is cut
	BadServer   Kind = "bad-server" // an answer that no Hub gives
	NoWeights   Kind = "no-weights" // no weights that could be loaded
	Pickled     Kind = "pickled"    // weights only as pickles, which can run code
	BadConfig   Kind = "bad-config" // a config.json that describes no model
	OwnCode     Kind = "own-code"   // the model wants to run its own code
)

// Error is a problem with a model's files, in a sentence, with what to do.
type Error struct {
	Kind    Kind
	Problem string // what is wrong; lower case, no full stop
	Hint    string // what to do about it
	Err     error  // the cause, if there is one
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Problem
	}
	return e.Problem + ": " + e.Hint
}

func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is, or wraps, an Error of that kind.
func IsKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// IsMisuse reports whether err is about what the user named or allowed, and not
// about the Hub or this machine.
func IsMisuse(err error) bool {
	return IsKind(err, BadName) || IsKind(err, BadConfig) || IsKind(err, Pickled) || IsKind(err, OwnCode)
}

// quoted writes a name that somebody gave so that it can do no harm on a terminal.
func quoted(s string) string {
	if len(s) > 120 {
		return strconv.Quote(s[:120]) + "…"
	}
	return strconv.Quote(s)
}

// size writes a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
