package tune

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/exports"
)

// Layout lays graphs of the cache of exported models out for pages, in a folder
// of its own: what pages load must not go while they do.
type Layout struct {
	Cache  exports.Cache
	Folder string
}

// Whole is a model's graph: that of the first entry that holds one.
func (l Layout) Whole(model string, keys ...string) ([]Graph, error) {
	for _, key := range keys {
		files, err := l.copy(key)
		if err != nil {
			return nil, err
		}
		if _, ok := files[exports.GraphName]; ok {
			return []Graph{{Name: model, File: exports.GraphName, Files: files}}, nil
		}
	}
	return nil, fmt.Errorf("the graph of %s is no longer in the cache of exported models: try again", model)
}

// Part is a part of a model: its name, and the file of its graph.
type Part struct{ Name, File string }

// Parts are the graphs of an entry's parts, each with its own weights.
func (l Layout) Parts(key string, parts []Part) ([]Graph, error) {
	files, err := l.copy(key)
	if err != nil {
		return nil, err
	}
	var out []Graph
	for _, p := range parts {
		g := Graph{Name: p.Name, File: p.File, Files: map[string]string{}}
		for name, path := range files {
			if name == p.File || strings.HasPrefix(name, p.File+".") {
				g.Files[name] = path
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// copy copies an entry and gives its graphs and weights: name → path.
func (l Layout) copy(key string) (map[string]string, error) {
	folder := filepath.Join(l.Folder, key)
	names, err := l.Cache.Copy(key, folder)
	files := map[string]string{}
	for _, name := range names {
		if slices.Contains([]string{".onnx", ".data"}, filepath.Ext(name)) {
			files[name] = filepath.Join(folder, name)
		}
	}
	return files, err
}
