package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"assay/internal/cell"
)

// recipe is what is looked at to find a recipe; the rest is the runner's.
type recipe struct {
	Type       string `json:"type"`
	Task       string `json:"task"`
	Size       string `json:"size"`
	Checkpoint string `json:"checkpoint"`
	raw        json.RawMessage
}

// FoundNone begins the reason where a search was in vain; what stopped it follows.
const FoundNone = "a search for a shape that runs found none: "

// NoRecipeError says that a model is known and how to build it is not.
type NoRecipeError struct {
	Type, Task, Size, Checkpoint string
	Reason                       string // a sentence, with what to do
	// Searched is the release of transformers with which a search found none
	// that runs; "" where nobody searched, or where a package was missing.
	Searched string
	// Component says that the type has no model class of its own.
	Component bool
}

// Failure is the error as the failure of a cell: the model's own, unless a
// package is what is missing.
func (e *NoRecipeError) Failure() cell.Failure {
	f := cell.Failure{Class: cell.ModelError, Detail: e.Error(), Hint: "No way to run it is known; docs/models.md lists such types with their reasons. A folder with its config.json can be tested at its true size."}
	switch {
	case missing.MatchString(e.Reason):
		f.Class, f.Hint = cell.MissingDependency, "Install what the detail names in the environment in use, or name another environment with --python."
	case e.Component:
		f.Hint = "Test the model that it is a part of."
	}
	return f
}

// gap is a type for which a search found no recipe when the catalogue was made.
type gap struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// book is all that is known about recipes.
type book struct {
	release string // of transformers, with which the recipes were made
	recipes map[string][]recipe
	gaps    map[string]gap
}

func (e *NoRecipeError) Error() string {
	name := e.Type
	if e.Checkpoint != "" {
		name = e.Checkpoint
	}
	return fmt.Sprintf("there is no recipe for %s: %s", name, e.Reason)
}

// Recipe returns a recipe as the runner's protocol has it. An empty task means
// the default one. Size full without a checkpoint means the type's first known
// checkpoint; a checkpoint is found with or without its owner.
func (c *Catalog) Recipe(modelType, task, size, checkpoint string) (json.RawMessage, error) {
	known, err := c.recipes()
	if err != nil {
		return nil, err
	}
	if size == "" {
		size = cell.Tiny
	}
	for _, r := range known.recipes[modelType] {
		if r.Size == size && (task == "" || r.Task == task) && (size == cell.Tiny || checkpoint == "" || named(r.Checkpoint, checkpoint)) {
			return r.raw, nil
		}
	}
	none := &NoRecipeError{Type: modelType, Task: task, Size: size, Checkpoint: checkpoint}
	none.Reason = c.whyNot(modelType, task, size, len(known.recipes[modelType]) > 0)
	e, _ := c.Get(modelType)
	none.Component = e.Component
	if g, ok := known.gaps[modelType]; ok && task == "" && size == cell.Tiny {
		none.Reason = FoundNone + g.Reason
		if !missing.MatchString(g.Reason) {
			none.Searched = known.release
		}
	}
	return nil, none
}

// missing is how transformers says that a package is not installed: where it
// is, another search may find what this one did not.
var missing = regexp.MustCompile(`requires the \S+ library`)

// HasRecipe reports whether the type has a recipe of that size.
func (c *Catalog) HasRecipe(modelType, size string) bool {
	_, err := c.Recipe(modelType, "", size, "")
	return err == nil
}

func (c *Catalog) whyNot(modelType, task, size string, others bool) string {
	e, ok := c.Get(modelType)
	switch {
	case !ok:
		return "it is not in the catalogue"
	case e.Component:
		return "it is a component of other models and has no model class of its own"
	case size == cell.Full:
		return "the true configuration of this checkpoint is not known; give the path of its config.json"
	case task != "" && others:
		if _, has := e.ClassFor(task); !has {
			return fmt.Sprintf("it has no head for task %q", task)
		}
		return fmt.Sprintf("no inputs are known for its head for task %q", task)
	}
	return "no inputs are known with which it runs at size tiny"
}

// readRecipes reads the embedded recipes. It is called once, when first needed: it
// takes some tens of milliseconds.
func readRecipes() (book, error) {
	b := book{recipes: map[string][]recipe{}, gaps: map[string]gap{}}
	for _, name := range []string{"recipes", "pipeline_recipes"} {
		var file struct {
			Transformers string
			Recipes      []json.RawMessage
			Gaps         []gap
		}
		if err := readJSON(name, &file); err != nil {
			return b, err
		}
		b.release = cmp.Or(b.release, file.Transformers)
		for _, g := range file.Gaps {
			b.gaps[g.Type] = g
		}
		for i, raw := range file.Recipes {
			r := recipe{raw: raw}
			if err := json.Unmarshal(raw, &r); err != nil {
				return b, fmt.Errorf("embedded %s.json, recipe %d: %w", name, i, err)
			}
			b.recipes[r.Type] = append(b.recipes[r.Type], r)
		}
	}
	return b, nil
}

// readPiped is the types of pipelines with a recipe, read without the recipes
// of all models: listing them must be instant.
func readPiped() map[string]bool {
	var file struct{ Recipes []struct{ Type string } }
	if err := readJSON("pipeline_recipes", &file); err != nil {
		return nil // who asks for a recipe is told
	}
	out := map[string]bool{}
	for _, r := range file.Recipes {
		out[r.Type] = true
	}
	return out
}
