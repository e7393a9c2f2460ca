// Package catalog knows the models: every type of transformers and every
// pipeline of diffusers with its task heads, families and documented
// checkpoint, the checkpoints whose true configuration is known, and the
// recipes by which a runner builds and feeds them.
//
// The data are made by the Python runner's introspection and search, never by
// hand, and are embedded: types.json and pipelines.json, one for each library,
// are read when a Catalog is loaded, the much larger recipes only when one is
// asked for, so that listing models stays instant. Four small tables are written by people: common names (names.json),
// the types of checkpoints that several types document where their names do not tell (homes.json),
// the representatives of the families (representatives.json) and the groups
// that users may name besides families.
//
// A name becomes an entry by Resolve, a set of flags becomes choices by Select,
// and a choice becomes something that can be run by Recipe. An environment with
// another release of a library has other types: With replaces the embedded
// ones of that library with what that environment's own introspection said.
package catalog

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed data/*.json
var data embed.FS

// The libraries that models come from.
const (
	Transformers = "transformers"
	Diffusers    = "diffusers"
)

// Entry is one model type of the catalogue.
type Entry struct {
	Type        string   `json:"type"`
	Library     string   `json:"library"`      // Transformers where the data name none
	ConfigClass string   `json:"config_class"` // "" for a pipeline, whose parts have one each
	Class       string   `json:"class"`        // the default head's; "" for a component
	Task        string   `json:"task"`         // the default head's
	Heads       []Head   `json:"heads"`        // every head, the default first
	Family      string   `json:"family"`
	Families    []string `json:"families"` // the primary one first
	Pipeline    string   `json:"pipeline"` // one of nine; "" for families outside them
	Checkpoint  string   `json:"checkpoint"`
	Priority    string   `json:"priority"`
	Inputs      []string `json:"inputs"`
	Modalities  []string `json:"modalities"`

	EncoderDecoder bool `json:"encoder_decoder"`
	// Auto says that an auto mapping names the type; the others are parts of
	// larger models that only their own module knows.
	Auto bool `json:"auto"`
	// Component says that the type has a configuration and no model class.
	Component bool   `json:"component"`
	Note      string `json:"note"`
}

// Head is a model class for a task.
type Head struct {
	Task  string `json:"task"`
	Class string `json:"class"`
}

// Tasks lists the tasks of all heads, the default first.
func (e Entry) Tasks() []string {
	var tasks []string
	for _, h := range e.Heads {
		if !slices.Contains(tasks, h.Task) {
			tasks = append(tasks, h.Task)
		}
	}
	return tasks
}

// ClassFor returns the class that does a task; "" means the default task.
func (e Entry) ClassFor(task string) (string, bool) {
	for _, h := range e.Heads {
		if task == "" || h.Task == task {
			return h.Class, true
		}
	}
	return "", false
}

// Checkpoint is a published model whose true configuration is known.
type Checkpoint struct {
	Name       string `json:"name"` // owner/name
	Type       string `json:"type"`
	Class      string `json:"class"`
	Task       string `json:"task"`
	Parameters int64  `json:"parameters"` // counted on the model that the recipe builds
	Published  *int64 `json:"published"`  // what its publisher states; nil when nobody does
	Source     string `json:"source"`     // where the configuration values stand
}

// Catalog answers what models there are. It is safe for concurrent use.
type Catalog struct {
	// Transformers and Diffusers are the releases that the types were read from.
	Transformers, Diffusers string

	entries         []Entry // sorted by type
	byType          map[string]int
	checkpoints     []Checkpoint
	names           map[string]string // common name, in lower case → type or checkpoint
	homes           map[string]string // checkpoint that several types document → its type, where no rule tells
	representatives []Representatives
	recipes         func() (book, error)   // reads the embedded recipes once
	piped           func() map[string]bool // the pipelines that have one: a small part of them
}

// Load reads the embedded catalogue.
func Load() (*Catalog, error) {
	c := &Catalog{recipes: sync.OnceValues(readRecipes), piped: sync.OnceValue(readPiped)}
	for _, file := range []string{"types", "pipelines"} {
		if err := c.loadTypes(file); err != nil {
			return nil, err
		}
	}
	var index struct{ Checkpoints []Checkpoint }
	var common struct{ Names map[string]string }
	var chosen struct{ Representatives []Representatives }
	var shared struct{ Homes map[string]string }
	for file, into := range map[string]any{"checkpoints": &index, "homes": &shared, "names": &common, "representatives": &chosen} {
		if err := readJSON(file, into); err != nil {
			return nil, err
		}
	}
	c.checkpoints, c.names, c.homes, c.representatives = index.Checkpoints, common.Names, shared.Homes, chosen.Representatives
	return c, nil
}

func (c *Catalog) loadTypes(file string) error {
	b, err := data.ReadFile("data/" + file + ".json")
	if err != nil {
		return fmt.Errorf("embedded catalogue: %w", err)
	}
	return c.setTypes(b)
}

// Count returns how many types of a library the catalogue holds, components
// among them.
func (c *Catalog) Count(library string) int {
	n := 0
	for _, e := range c.entries {
		if e.Library == library {
			n++
		}
	}
	return n
}

func readJSON(name string, into any) error {
	b, err := data.ReadFile("data/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("embedded %s.json: %w", name, err)
	}
	return nil
}

// Types returns every entry, sorted by type.
func (c *Catalog) Types() []Entry { return slices.Clone(c.entries) }

// Checkpoints returns the checkpoints whose true configuration is known.
func (c *Catalog) Checkpoints() []Checkpoint { return slices.Clone(c.checkpoints) }

// CheckpointsOf returns those of one type.
func (c *Catalog) CheckpointsOf(modelType string) []Checkpoint {
	var of []Checkpoint
	for _, k := range c.checkpoints {
		if k.Type == modelType {
			of = append(of, k)
		}
	}
	return of
}

// FirstCheckpoint is what a type means at full size where no checkpoint is
// named; "" where none is known.
func (c *Catalog) FirstCheckpoint(modelType string) string {
	if of := c.CheckpointsOf(modelType); len(of) > 0 {
		return of[0].Name
	}
	return ""
}

// Get returns the entry of exactly that type.
func (c *Catalog) Get(modelType string) (Entry, bool) {
	i, ok := c.byType[modelType]
	if !ok {
		return Entry{}, false
	}
	return c.entries[i], true
}

// OfClass returns the entry that has the class among its heads, if only one has.
func (c *Catalog) OfClass(class string) (Entry, bool) {
	has := keep(c.entries, func(e Entry) bool {
		return slices.ContainsFunc(e.Heads, func(h Head) bool { return h.Class == class })
	})
	if len(has) != 1 {
		return Entry{}, false
	}
	return has[0], true
}

// Search returns the entries that have the text, whatever its case, in their
// type, class, task, family or checkpoint.
func (c *Catalog) Search(text string) []Entry {
	var found []Entry
	for _, e := range c.entries {
		if e.Matches(text) {
			found = append(found, e)
		}
	}
	return found
}

// Matches reports whether the entry has the text in its type, a class, a task,
// a family or its checkpoint, whatever the case.
func (e Entry) Matches(text string) bool {
	text = strings.ToLower(text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	if has(e.Type) || has(e.Checkpoint) || slices.ContainsFunc(e.Families, has) {
		return true
	}
	return slices.ContainsFunc(e.Heads, func(h Head) bool { return has(h.Class) || has(h.Task) })
}
