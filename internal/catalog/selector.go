package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// keyTypes are the types of the thirteen key models, in the order of the list.
var keyTypes = []string{
	"bert", "t5", "llama", "clip", "vit", "clap", "whisper", "wav2vec2", "llava", "llava_next", "xclip", "qwen2", "detr",
}

// KeyTypes returns the types of the thirteen key models.
func KeyTypes() []string { return slices.Clone(keyTypes) }

// Selector says which models are meant. Models, All, Key, Families and
// Representatives each add models; Tasks and Priorities narrow what was added,
// or all models where nothing was.
type Selector struct {
	Models          []string `json:"models,omitempty"` // types, checkpoints, common names
	All             bool     `json:"all,omitempty"`    // every type of transformers, and the pipelines that have a recipe
	Key             bool     `json:"key,omitempty"`
	Representatives bool     `json:"representatives,omitempty"`
	Families        []string `json:"families,omitempty"` // families, groups, types for their relatives
	Tasks           []string `json:"tasks,omitempty"`
	Priorities      []string `json:"priorities,omitempty"` // high, medium, low
}

// Empty reports whether the selector chooses nothing.
func (s Selector) Empty() bool {
	return !s.All && !s.Key && !s.Representatives && len(s.Models)+len(s.Families)+len(s.Tasks)+len(s.Priorities) == 0
}

// Choice is a model that a selector chose.
type Choice struct {
	Entry      Entry
	Checkpoint string // as Resolved has it: "" means the type
	Task       string // the task that was asked for; "" means the default one
}

// Select returns the models that the selector means, each once, in the order
// they were named and then of the catalogue. Components are chosen only by name.
func (c *Catalog) Select(s Selector) ([]Choice, error) {
	chosen, err := c.added(s)
	if err != nil {
		return nil, err
	}
	if err := c.knownTasks(s.Tasks); err != nil {
		return nil, err
	}
	for _, p := range s.Priorities {
		if !slices.Contains([]string{"high", "medium", "low"}, p) {
			return nil, fmt.Errorf("unknown priority %q: the priorities are high, medium, low", p)
		}
	}
	return narrowed(chosen, s), nil
}

func (c *Catalog) added(s Selector) ([]Choice, error) {
	var chosen []Choice
	seen := map[[2]string]bool{}
	add := func(e Entry, checkpoint string) {
		if key := [2]string{e.Type, checkpoint}; !seen[key] {
			seen[key] = true
			chosen = append(chosen, Choice{Entry: e, Checkpoint: checkpoint})
		}
	}
	for _, name := range s.Models {
		r, err := c.Resolve(name)
		if err != nil {
			return nil, err
		}
		add(r.Entry, r.Checkpoint)
	}
	for _, t := range c.listed(s) {
		if e, ok := c.Get(t); ok { // a release may lack a type of the lists
			add(e, "")
		}
	}
	for _, f := range s.Families {
		members, err := c.InFamily(f)
		if err != nil {
			return nil, err
		}
		for _, e := range members {
			add(e, "")
		}
	}
	nothing := len(s.Models) == 0 && !s.Key && !s.Representatives && len(s.Families) == 0
	if s.All || nothing && len(s.Tasks)+len(s.Priorities) > 0 {
		for _, e := range c.entries {
			if c.meantByAll(e) {
				add(e, "")
			}
		}
	}
	return chosen, nil
}

// meantByAll reports whether an entry is one of "all": a component is not, and
// a pipeline only with a recipe, since the search for one takes a pipeline far
// longer than a model.
func (c *Catalog) meantByAll(e Entry) bool {
	return !e.Component && (e.Library != Diffusers || c.piped()[e.Type])
}

// listed are the types of the fixed lists that the selector names.
func (c *Catalog) listed(s Selector) []string {
	var types []string
	if s.Key {
		types = append(types, keyTypes...)
	}
	if s.Representatives {
		for _, r := range c.representatives {
			types = append(types, r.Types...)
		}
	}
	return types
}

func (c *Catalog) knownTasks(tasks []string) error {
	for _, t := range tasks {
		known := slices.ContainsFunc(c.entries, func(e Entry) bool { return slices.Contains(e.Tasks(), t) })
		if !known {
			return fmt.Errorf("no model has a head for task %q: the tasks are %s", t, strings.Join(c.Tasks(), ", "))
		}
	}
	return nil
}

// Tasks lists every task that some type has a head for, sorted.
func (c *Catalog) Tasks() []string {
	var all []string
	for _, e := range c.entries {
		all = append(all, e.Tasks()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// narrowed keeps the choices of the asked priorities, and one for each asked
// task that the model has a head for.
func narrowed(chosen []Choice, s Selector) []Choice {
	var kept []Choice
	for _, ch := range chosen {
		if len(s.Priorities) > 0 && !slices.Contains(s.Priorities, ch.Entry.Priority) {
			continue
		}
		if len(s.Tasks) == 0 {
			kept = append(kept, ch)
		}
		for _, t := range s.Tasks {
			if _, ok := ch.Entry.ClassFor(t); ok {
				kept = append(kept, Choice{ch.Entry, ch.Checkpoint, t})
			}
		}
	}
	return kept
}
