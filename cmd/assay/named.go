package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/clean"
	"assay/internal/mentions"
)

// project are the models that a folder names.
type project struct {
	Folder string `json:"folder"`
	Files  int    `json:"files"` // that were read
	// Untold are loaded by names that nobody can tell without running the project.
	Untold  []mentions.Mention `json:"untold"`
	Skipped []string           `json:"skipped"`
	More    bool               `json:"more,omitempty"`

	models []named
}

// named is a model of a project: one that can be asked about, or why it cannot.
type named struct {
	atlas.Model
	places []string
	why    string
}

// namedIn finds the models that a project names, each once with its places.
func (a *app) namedIn(ctx context.Context, cat *catalog.Catalog, dir string) (*project, error) {
	const wanted = "the folder of a project with --in"
	if err := inFolder(dir, wanted); err != nil {
		return nil, err
	}
	found, err := mentions.Find(ctx, os.DirFS(dir))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, unusable(dir, wanted, err)
	}
	p := &project{Folder: dir, Files: found.Files, Untold: orEmpty(found.Untold), Skipped: orEmpty(found.Skipped), More: found.More}
	seen := map[string]int{}
	for _, m := range found.Mentions {
		place := m.Place()
		n, err := a.mentioned(ctx, cat, dir, m)
		if err != nil {
			return nil, err
		}
		key := n.Checkpoint
		if i, ok := seen[key]; ok {
			p.models[i].add(n, place)
			continue
		}
		seen[key] = len(p.models)
		n.places = []string{place}
		p.models = append(p.models, n)
	}
	return p, nil
}

// add adds a place, and takes what a later mention tells of the type.
func (n *named) add(other named, place string) {
	if n.Type == "" && other.Type != "" {
		n.Model, n.why = other.Model, ""
	}
	if !slices.Contains(n.places, place) {
		n.places = append(n.places, place)
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// mentioned is the model of a mention. What code loads is a checkpoint, also where a type
// has the same name, so that it is never taken for the type itself.
func (a *app) mentioned(ctx context.Context, cat *catalog.Catalog, dir string, m mentions.Mention) (named, error) {
	name := m.Name
	if m.Local {
		name = filepath.Join(dir, filepath.FromSlash(m.Name))
		if !filepath.IsAbs(name) && !strings.HasPrefix(name, ".") {
			name = "." + string(filepath.Separator) + name
		}
	}
	model, err := a.askedModel(ctx, cat, name)
	if ctx.Err() != nil {
		return named{}, context.Cause(ctx)
	}
	if err == nil && model.Checkpoint == "" {
		model.Checkpoint = published(cat, model.Type, name)
		model.Weights = a.weightsOf(ctx, cat, model, "")
		model.Name = model.Checkpoint
	}
	if err == nil {
		return named{Model: model}, nil
	}
	if e, ok := typeOf(cat, m); ok {
		model = atlas.Model{Name: name, Type: e.Type, Task: e.Task, Checkpoint: name}
		model.Weights = a.weightsOf(ctx, cat, model, "")
		return named{Model: model}, nil
	}
	return named{Model: atlas.Model{Name: name, Checkpoint: name}, why: "its type is not known here: give the path of its config.json, or load it once with assay fetch"}, nil
}

// published is the checkpoint that a type's name means where a model is loaded: gpt2 is
// openai-community/gpt2.
func published(cat *catalog.Catalog, modelType, name string) string {
	e, _ := cat.Get(modelType)
	for _, k := range append([]string{e.Checkpoint}, names(cat.CheckpointsOf(modelType))...) {
		if strings.EqualFold(k[strings.LastIndex(k, "/")+1:], name) {
			return k
		}
	}
	return name
}

func names(of []catalog.Checkpoint) []string {
	var out []string
	for _, k := range of {
		out = append(out, k.Name)
	}
	return out
}

// typeOf is what a mention itself tells: the default of a pipeline, or the class that
// loads the model.
func typeOf(cat *catalog.Catalog, m mentions.Mention) (catalog.Entry, bool) {
	if m.Local {
		return catalog.Entry{}, false
	}
	if e, ok := cat.Get(m.Type); ok {
		return e, true
	}
	if m.Class == "" || strings.HasPrefix(m.Class, "Auto") {
		return catalog.Entry{}, false
	}
	return cat.OfClass(m.Class)
}

// write prints what is known of the project beside its answers.
func (p *project) write(w io.Writer) {
	for _, u := range p.Untold {
		fmt.Fprintln(w, clean.Line(fmt.Sprintf("%s: %s loads what cannot be told here: %s", u.Place(), u.How, u.Name)))
	}
	for _, s := range p.Skipped {
		fmt.Fprintln(w, clean.Line(s+" was not read: it is too large, or cannot be"))
	}
	if p.More {
		fmt.Fprintln(w, "there is more than was looked at: name a folder inside it")
	}
	if len(p.models) == 0 {
		fmt.Fprintln(w, clean.Line(fmt.Sprintf("%s names no model that can be told (%d files were read)", p.Folder, p.Files)))
	}
}
