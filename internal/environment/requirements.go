package environment

import (
	"strings"
)

// Requirement is one package of a lock.
type Requirement struct {
	Name    string // as the index writes it: lower case, with hyphens
	Version string
	Marker  string // on which machines it is needed; "" is all
	Hashes  int
}

// ParseLock reads the packages of a lock as `uv pip compile` writes it: a line
// for each with its version and marker, continued by its hashes.
func ParseLock(text []byte) []Requirement {
	var all []Requirement
	joined := strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(string(text))
	for line := range strings.Lines(joined) {
		line, _, _ = strings.Cut(line, "#")
		head, hashes, _ := strings.Cut(line, "--hash=")
		head, marker, _ := strings.Cut(head, ";")
		name, version, ok := strings.Cut(strings.TrimSpace(head), "==")
		if !ok || name == "" || version == "" {
			continue
		}
		n := 0
		if hashes != "" {
			n = 1 + strings.Count(hashes, "--hash=")
		}
		all = append(all, Requirement{Normalize(name), version, strings.TrimSpace(marker), n})
	}
	return all
}

// Normalize writes a package's name as the index does.
func Normalize(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name, _, _ = strings.Cut(name, "[") // extras
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }), "-")
}
