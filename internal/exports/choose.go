package exports

import (
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
