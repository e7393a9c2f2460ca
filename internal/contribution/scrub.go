package contribution

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/internal/clean"
)

// Scrubber takes out of texts what tells a machine, a person or a folder.
type Scrubber struct {
	names    []string         // of this machine and of its user
	patterns []*regexp.Regexp // that find them
}

// general are names that tell nobody.
var general = []string{"root", "user", "users", "localhost", "linux", "runner", "ubuntu", "admin", "home", "name", "torch", "cpu", "cuda", "none", "null"}

// NewScrubber knows the names of this machine and its user, besides the form of
// paths and addresses.
func NewScrubber(names ...string) Scrubber {
	var s Scrubber
	for _, n := range names {
		for _, part := range parts(strings.TrimSpace(n)) {
			if part = strings.Trim(part, ","); part != "" && !slices.Contains(general, strings.ToLower(part)) && !slices.Contains(s.names, part) {
				s.names = append(s.names, part)
			}
		}
	}
	return s.sparing(nil)
}

// parts are the names in a name: of a home its folder, of a host its first part and its domain, of a person each name.
func parts(name string) []string {
	if strings.HasPrefix(name, "/") || strings.Count(name, `\`) > 1 {
		return []string{name[strings.LastIndexAny(strings.TrimRight(name, `/\`), `/\`)+1:]}
	}
	out := append([]string{name}, strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(`./\@ `, r) })...)
	if first, domain, ok := strings.Cut(name, "."); ok {
		out = append(out, first, domain)
	}
	return slices.DeleteFunc(out, func(p string) bool {
		return p != name && (slices.Contains(privately, p) || slices.Contains(publicly, p) || slices.Contains(sometimes, p))
	})
}

// sparing is a scrubber that takes ordinary words, and what is too short to be told from one, only where a text says that
// they are names: a user called max must not cost an error its max_length.
func (s Scrubber) sparing(ordinary map[string]bool) Scrubber {
	s.patterns = nil
	for _, n := range s.names {
		before, after := `(^|[^\pL\pN])`, `($|[^\pL\pN])`
		if len([]rune(n)) < 3 || ordinary[strings.ToLower(n)] {
			before = `(\b(?:user|username|login|account|host|hostname|machine|computer)\s?[=: ]\s?["']?)`
		}
		s.patterns = append(s.patterns, regexp.MustCompile(`(?i)`+before+regexp.QuoteMeta(n)+after))
	}
	return s
}

// Line is a text on one line, without what tells a machine, a person or a folder.
// Done twice it changes nothing.
func (s Scrubber) Line(text string) string {
	text = strings.Join(strings.Fields(clean.Line(text)), " ")
	for range 8 { // what one form leaves may be another's
		before := text
		for i, f := range forms {
			if i == 1 { // what is left of addresses has no slashes
				text = paths(text)
			}
			text = f.replace(text)
		}
		for _, p := range s.patterns {
			text = p.ReplaceAllString(text, "${1}(name)${2}")
		}
		if text == before {
			break
		}
	}
	return text
}

// four is a version of four numbers, which elsewhere is an address.
var four = regexp.MustCompile(`^\d+(?:\.\d+){3}$`)

// version is that of a package.
func (s Scrubber) version(v string) string {
	if four.MatchString(v) {
		return v
	}
	return s.Line(v)
}

// cleared says where a document still has something to take out.
func cleared(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	var wrong []string
	walk(v, "", func(at, s string) {
		// Targets have a slash before their engine; check looks at those.
		if strings.HasSuffix(at, ".target") || strings.Contains(at, ".versions.") && four.MatchString(s) {
			return
		}
		if (Scrubber{}).Line(s) != s {
			wrong = append(wrong, fmt.Sprintf("%s has a path, an address or a line break in it: %.80q", strings.TrimPrefix(at, "."), s))
		}
	})
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// walk visits every text of a document, names of fields too.
func walk(v any, at string, visit func(at, s string)) {
	switch v := v.(type) {
	case string:
		visit(at, v)
	case []any:
		for i, x := range v {
			walk(x, fmt.Sprintf("%s.%d", at, i), visit)
		}
	case map[string]any:
		for k, x := range v {
			visit(at+".names", k)
			walk(x, at+"."+k, visit)
		}
	}
}
