package verify

import (
	"maps"
	"slices"
	"strings"
)

// anyOf is the reason that most tests were skipped for, without pytest's prefix.
func anyOf(skipped map[string]string) string {
	counts := map[string]int{}
	for _, why := range skipped {
		counts[strings.TrimPrefix(why, "Skipped: ")]++
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(reasons) == 0 {
		return "no test was found"
	}
	return reasons[0]
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}
