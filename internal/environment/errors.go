package environment

import "errors"

// Kind says what a user can do about an Error.
type Kind string

// The kinds of Error.
const (
	Forbidden    Kind = "forbidden"     // an installation is needed and not allowed
	NoPython     Kind = "no-python"     // none found, or the named one does not start
	OldPython    Kind = "old-python"    // found, but below the least version
	BrokenPython Kind = "broken-python" // starts, but cannot make environments
	NoNPM        Kind = "no-npm"        // none found, or too old
	NoSpace      Kind = "no-space"
	NoNetwork    Kind = "no-network"
	NoPermission Kind = "no-permission"
	Certificate  Kind = "certificate"
	Refused      Kind = "refused"     // the index wants a password or says no
	Mismatch     Kind = "mismatch"    // a file is not the one that was locked
	Unsupported  Kind = "unsupported" // no packages for this machine or Python
	OldPackage   Kind = "old-package" // the user's torch or transformers is below the least version
	Failed       Kind = "failed"      // anything else
)

// Error is a problem with an environment, in a sentence, with what to do.
type Error struct {
	Kind    Kind
	Problem string // what is wrong; lower case, no full stop
	Hint    string // what to do about it
	Log     string // path of the file with everything the installers said; "" if none
	Err     error  // the cause, if there is one
}

func (e *Error) Error() string {
	s := e.Problem
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	if e.Log != "" {
		s += " (full log: " + e.Log + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is, or wraps, an Error of that kind.
func IsKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
