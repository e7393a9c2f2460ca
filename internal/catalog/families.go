package catalog

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/internal/cell"
)

// group is what users may name beside families: a set of families, of tasks, or
// of both, any of which is enough.
type group struct {
	name     string
	families []string
	tasks    []string
}

var groups = []group{
	{"text", []string{"encoder-only", "decoder-only", "encoder-decoder"}, nil},
	{"embedding", []string{"encoder-only"}, []string{"text-encoding"}},
	{"generation", nil, []string{"text-generation", "text2text-generation", "image-text-to-text", "any-to-any"}},
	{"vision", []string{"vision", "vision-text", "video"}, nil},
	{"speech", []string{"audio"}, []string{"automatic-speech-recognition", "text-to-speech", "text-to-audio"}},
}

// Groups lists the names of the groups.
func Groups() []string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	return names
}

func (g group) holds(e Entry) bool {
	in := func(list []string) func(string) bool {
		return func(s string) bool { return slices.Contains(list, s) }
	}
	return slices.ContainsFunc(e.Families, in(g.families)) || slices.ContainsFunc(e.Tasks(), in(g.tasks))
}

// Representatives names the one or two small types that stand for a family.
type Representatives struct {
	Family string   `json:"family"`
	Types  []string `json:"types"`
	// Why says, for a family without any, what is missing.
	Why string `json:"why"`
}

// Representatives returns the table, one row for each of the eleven families.
func (c *Catalog) Representatives() []Representatives { return slices.Clone(c.representatives) }

// InFamily returns the entries of a family, of a group, or of a type and its
// relatives; the error lists what may be named.
func (c *Catalog) InFamily(name string) ([]Entry, error) {
	holds, err := c.familyTest(name)
	if err != nil {
		return nil, err
	}
	var found []Entry
	for _, e := range c.entries {
		if !e.Component && holds(e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// familyTest tries groups first: a group is at least as wide as the family of
// the same name.
func (c *Catalog) familyTest(name string) (func(Entry) bool, error) {
	if i := slices.IndexFunc(groups, func(g group) bool { return g.name == name }); i >= 0 {
		return groups[i].holds, nil
	}
	if slices.Contains(cell.Families(), name) {
		return func(e Entry) bool { return slices.Contains(e.Families, name) }, nil
	}
	if e, ok := c.Get(name); ok {
		return func(other Entry) bool { return relatives(e, other) }, nil
	}
	return nil, fmt.Errorf("unknown family %q: the families are %s; the groups are %s; a model type stands for its relatives",
		name, strings.Join(cell.Families(), ", "), strings.Join(Groups(), ", "))
}

// relatives reports whether two types share a family name and a pipeline:
// albert and roberta are relatives of bert; vits, which speaks, is none of vit.
func relatives(e, other Entry) bool {
	if e.Type == other.Type {
		return true
	}
	s := stem(e.Type)
	return e.Pipeline == other.Pipeline && slices.ContainsFunc(words(other.Type), func(w string) bool {
		if len(s) >= 4 {
			return strings.Contains(w, s)
		}
		return strings.HasPrefix(w, s) || strings.HasSuffix(w, s)
	})
}

// stem is a type's first word without its version: qwen of qwen2_5_vl. A name
// that is nearly all version, such as t5, is its own stem.
func stem(modelType string) string {
	first := words(modelType)[0]
	if s := strings.TrimRightFunc(first, unicode.IsDigit); len(s) >= 2 {
		return s
	}
	return first
}

// words splits a type at its separators; it is never empty.
func words(modelType string) []string {
	w := strings.FieldsFunc(strings.ToLower(modelType), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(w) == 0 {
		return []string{modelType}
	}
	return w
}
