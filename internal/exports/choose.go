package exports

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Choose returns the entries that words name by model or key; no words name all.
func Choose(all []Entry, words []string) []Entry {
	out := []Entry{}
	for _, e := range all {
		if len(words) == 0 || slices.ContainsFunc(words, e.isNamed) {
			out = append(out, e)
		}
	}
	return out
}

// isNamed reports whether a word means the entry: its type, its checkpoint with
// or without the owner, or the beginning of its key.
func (e Entry) isNamed(word string) bool {
	const least = 6 // letters that make a part of a key
	_, short, _ := strings.Cut(e.Checkpoint, "/")
	return word == e.Type || word != "" && (word == e.Checkpoint || word == short) ||
		len(word) >= least && strings.HasPrefix(e.Key, word)
}

// UnkeptError is a word that names nothing in the cache.
type UnkeptError struct{ Word string }

func (e *UnkeptError) Error() string {
	return fmt.Sprintf("no cached exports of %q: see \"assay cache ls\"", e.Word)
}

// RemoveNamed removes what words name, and all without any. A word that names
// nothing is an UnkeptError, and then nothing is removed. What cannot be removed
// does not keep the rest; Removed is nil where nothing was tried.
func (c Cache) RemoveNamed(words []string) (Collected, error) {
	entries, err := c.List()
	if err != nil {
		return Collected{}, err
	}
	for _, w := range words {
		if len(Choose(entries, []string{w})) == 0 {
			return Collected{}, &UnkeptError{w}
		}
	}
	done := Collected{Removed: []Entry{}}
	var failed error
	for _, e := range Choose(entries, words) {
		if err := c.Remove(e.Key); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		done.Removed, done.Freed = append(done.Removed, e), done.Freed+e.Bytes
	}
	return done, failed
}
