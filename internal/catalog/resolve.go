package catalog

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/spelling"
)

// maxName bounds a model's name; the longest published ones have some 90 bytes.
const maxName = 200

// Resolved is what a name means.
type Resolved struct {
	Entry Entry
	// Checkpoint is the full name of the checkpoint that was named; "" when
	// the name is a type's, which means the type made tiny.
	Checkpoint string
}

// UnknownModelError is a name that means nothing here.
type UnknownModelError struct {
	Name    string
	Nearest []string // the three nearest names, nearest first
}

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("unknown model %q: the nearest names are %s", e.Name, strings.Join(e.Nearest, ", "))
}

// Resolve finds what a name means: a type (bert), a checkpoint with or without
// its owner (google-bert/bert-base-uncased, bert-base-uncased) or a common name
// (tinyllama). Case does not matter, nor - against _ in types. A type wins over
// a checkpoint of the same name. A checkpoint that several types document is the one's
// whose name it has; where that tells nothing it is an *AmbiguousError. Anything else is an
// *UnknownModelError.
func (c *Catalog) Resolve(name string) (Resolved, error) {
	if err := plausible(name); err != nil {
		return Resolved{}, err
	}
	for _, look := range []func(string) (Resolved, bool){c.asType, c.asCheckpoint, c.asCommonName} {
		if r, ok := look(name); ok {
			return r, nil
		}
	}
	if r, ok, err := c.documented(name); ok {
		return r, err
	}
	return Resolved{}, &UnknownModelError{name, c.nearest(name, 3)}
}

// plausible refuses what cannot be a model's name, in particular paths.
func plausible(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a model's name is empty: name a type such as \"bert\" or a checkpoint")
	case len(name) > maxName:
		return fmt.Errorf("a model's name has %d bytes: names have at most %d", len(name), maxName)
	case strings.ContainsAny(name, "\\\x00\n\r\t") || strings.Contains(name, "..") || strings.HasPrefix(name, "/") || strings.Count(name, "/") > 1:
		return fmt.Errorf("%q is not a model's name: it is a type such as \"bert\" or a checkpoint such as \"owner/name\"", name)
	}
	return nil
}

func (c *Catalog) asType(name string) (Resolved, bool) {
	if e, ok := c.Get(name); ok {
		return Resolved{Entry: e}, true
	}
	same := func(e Entry) bool { return plain(e.Type) == plain(name) }
	if i := slices.IndexFunc(c.entries, same); i >= 0 {
		return Resolved{Entry: c.entries[i]}, true
	}
	return Resolved{}, false
}

func plain(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

func (c *Catalog) asCheckpoint(name string) (Resolved, bool) {
	for _, k := range c.checkpoints {
		if e, ok := c.Get(k.Type); ok && named(k.Name, name) {
			return Resolved{e, k.Name}, true
		}
	}
	return Resolved{}, false
}

// named reports whether the name means the checkpoint, with or without owner.
func named(checkpoint, name string) bool {
	return strings.EqualFold(checkpoint, name) || strings.EqualFold(bare(checkpoint), name)
}

func bare(checkpoint string) string { return checkpoint[strings.LastIndex(checkpoint, "/")+1:] }

func (c *Catalog) asCommonName(name string) (Resolved, bool) {
	meant, ok := c.names[strings.ToLower(name)]
	if !ok {
		return Resolved{}, false
	}
	if r, ok := c.asType(meant); ok {
		return r, true
	}
	return c.asCheckpoint(meant)
}

// nearest returns the n names that are fewest edits away; of equally near ones
// types first, then in order of the alphabet.
func (c *Catalog) nearest(name string, n int) []string {
	type candidate struct {
		name  string
		edits int
	}
	wanted := plain(name)
	var all []candidate
	add := func(s string) { all = append(all, candidate{s, spelling.Edits(plain(s), wanted)}) }
	for _, e := range c.entries {
		add(e.Type)
	}
	for _, k := range c.checkpoints {
		add(bare(k.Name))
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.edits - b.edits })
	var near []string
	for _, k := range all {
		if len(near) < n && !slices.Contains(near, k.name) {
			near = append(near, k.name)
		}
	}
	return near
}
