package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// AmbiguousError is a checkpoint that several types document, where nothing tells
// whose it is. Its config.json does.
type AmbiguousError struct {
	Name  string
	Types []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is in the documentation of several types (%s): name one of them, or the path of its config.json", e.Name, strings.Join(e.Types, ", "))
}

// documented finds a checkpoint that the types' documentation names. Its
// configuration is not known here, but its type is. ok is false where no type
// names it.
func (c *Catalog) documented(name string) (r Resolved, ok bool, err error) {
	var candidates []Entry
	for _, e := range c.entries {
		if e.Checkpoint != "" && named(e.Checkpoint, name) && (len(candidates) == 0 || e.Checkpoint == candidates[0].Checkpoint) {
			candidates = append(candidates, e)
		}
	}
	if len(candidates) == 0 {
		return r, false, nil
	}
	checkpoint := candidates[0].Checkpoint
	if e, ok := c.Get(c.homes[checkpoint]); ok {
		return Resolved{e, checkpoint}, true, nil
	}
	left := candidates
	for _, narrow := range []func(string, []Entry) []Entry{whole, auto, longestIn, bases, spelled, roots} {
		if narrowed := narrow(checkpoint, left); len(narrowed) > 0 {
			left = narrowed
		}
		if len(left) == 1 {
			return Resolved{left[0], checkpoint}, true, nil
		}
	}
	return r, true, &AmbiguousError{checkpoint, types(left)}
}

func types(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Type)
	}
	return out
}

func keep(entries []Entry, wanted func(Entry) bool) []Entry {
	var out []Entry
	for _, e := range entries {
		if wanted(e) {
			out = append(out, e)
		}
	}
	return out
}

// whole leaves out components of models: nobody publishes one under its name.
func whole(_ string, entries []Entry) []Entry {
	return keep(entries, func(e Entry) bool { return !e.Component })
}

// auto are the types that the library itself makes of a configuration.
func auto(_ string, entries []Entry) []Entry {
	return keep(entries, func(e Entry) bool { return e.Auto })
}

// longestIn are the types whose name the checkpoint's has in it, and of those the longest:
// seed_oss in Seed-OSS-36B, step3p7 in Step-3.7-Flash. The owner's name counts last.
func longestIn(checkpoint string, entries []Entry) []Entry {
	for _, text := range []string{bare(checkpoint), checkpoint} {
		for _, point := range []string{"", "p"} {
			has := keep(entries, func(e Entry) bool { return strings.Contains(letters(text, point), letters(e.Type, point)) })
			longest := 0
			for _, e := range has {
				longest = max(longest, len(letters(e.Type, point)))
			}
			if of := keep(has, func(e Entry) bool { return len(letters(e.Type, point)) == longest }); len(of) == 1 {
				return of
			}
		}
	}
	return nil
}

// bases are the types that all others' names begin with: qwen3_vl_moe, beside
// qwen3_vl_moe_text and qwen3_vl_moe_vision.
func bases(_ string, entries []Entry) []Entry {
	return keep(entries, func(e Entry) bool {
		return !slices.ContainsFunc(entries, func(o Entry) bool { return !strings.HasPrefix(o.Type, e.Type) })
	})
}

// spelled are the types whose letters the checkpoint's name has in this order:
// glm4v in GLM-4.1V-9B.
func spelled(checkpoint string, entries []Entry) []Entry {
	text := letters(bare(checkpoint), "")
	return keep(entries, func(e Entry) bool {
		rest := text
		for _, r := range letters(e.Type, "") {
			i := strings.IndexRune(rest, r)
			if i < 0 {
				return false
			}
			rest = rest[i+1:]
		}
		return true
	})
}

// parts end the names of types that are one side of a larger model.
var parts = []string{"_text", "_vision", "_audio"}

// roots are the types that are no part of a model by their name.
func roots(_ string, entries []Entry) []Entry {
	return keep(entries, func(e Entry) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return strings.HasSuffix(e.Type, p) })
	})
}

// letters are the letters and digits of a name, in lower case. A point becomes
// what types have in its place: nothing, or a p.
func letters(s, point string) string {
	s = strings.ReplaceAll(strings.ToLower(s), ".", point)
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}
