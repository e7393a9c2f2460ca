// Package spelling finds the name that a mistyped one was meant to be.
// It is a leaf: names are plain strings, and their order is the caller's.
package spelling

import "strings"

// Edits is the least number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func Edits(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// Meant is the one of the names that a mistyped one must mean, being nearer to
// it than to any other; "" when it is near to none, or to several. Case is no
// mistake worth counting, and a third of the letters is too many.
func Meant(typed string, names []string) string {
	meant, least := "", len(typed)/3+1
	for _, name := range names {
		switch n := Edits(strings.ToLower(typed), strings.ToLower(name)); {
		case n < least:
			meant, least = name, n
		case n == least:
			meant = ""
		}
	}
	return meant
}
