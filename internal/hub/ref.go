package hub

import (
	"regexp"
	"strings"
)

// Main is the revision that is meant where none is named.
const Main = "main"

// Ref names a model of the Hub at a revision.
type Ref struct {
	Model    string // owner/name; old ones have no owner
	Revision string // a branch, a tag or a commit; "" is Main
}

// The Hub's own rules for names. No part may hold "..", so no name leads out of
// a folder.
var (
	namePart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}$`)
	revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// ParseRef reads owner/name or owner/name@revision.
func ParseRef(s string) (Ref, error) {
	model, rev, named := strings.Cut(s, "@")
	r := Ref{model, rev}
	if named && rev == "" {
		return r, &Error{Kind: BadName, Problem: quoted(s) + " names no revision after the @", Hint: "give a branch, a tag or a commit"}
	}
	return r, r.Check()
}

// Check refuses invalid names, in particular paths.
func (r Ref) Check() error {
	parts := strings.Split(r.Model, "/")
	good := len(parts) <= 2
	for _, p := range parts {
		good = good && namePart.MatchString(p) && !strings.Contains(p, "..") && !strings.Contains(p, "--")
	}
	if !good {
		return &Error{Kind: BadName, Problem: quoted(r.Model) + " is not the name of a model on the Hub", Hint: "it is owner/name, such as google-bert/bert-base-uncased"}
	}
	if r.Revision != "" && (!revision.MatchString(r.Revision) || strings.Contains(r.Revision, "..") || strings.Contains(r.Revision, "//") || strings.HasSuffix(r.Revision, "/")) {
		return &Error{Kind: BadName, Problem: quoted(r.Revision) + " is not a revision", Hint: "give a branch, a tag or a commit"}
	}
	return nil
}

func (r Ref) revision() string {
	if r.Revision == "" {
		return Main
	}
	return r.Revision
}

func (r Ref) String() string {
	if r.Revision == "" {
		return r.Model
	}
	return r.Model + "@" + r.Revision
}
