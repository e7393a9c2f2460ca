package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/content"
	"assay/internal/hub"
	"assay/internal/platform"
)

// Content is the digest of the files of the user's own that a cell's model is
// made of; "" for one of the catalogue or the Hub. The cell's hash has only their
// path, and files change.
func (s *Session) Content(ctx context.Context, c cell.Cell) (string, error) {
	return contentOf(ctx, s.book(), c, s.o.Weights.Want)
}

func contentOf(ctx context.Context, b *content.Book, c cell.Cell, w hub.Want) (string, error) {
	root, files, err := ownFiles(c, w)
	if err != nil || len(files) == 0 {
		return "", err
	}
	return b.Files(ctx, root, files)
}

// ownFiles are the files that matter to what a cell runs, of those that lie in
// folders of the user's, and the folder that they are named within.
func ownFiles(c cell.Cell, w hub.Want) (root string, files []string, err error) {
	switch {
	case c.Engine == platform.Noop:
		return "", nil, nil
	case c.Type == cell.ONNX:
		files, err = graphFiles(c.Checkpoint)
		return filepath.Dir(c.Checkpoint), files, err
	}
	if filepath.IsAbs(c.Checkpoint) {
		root = filepath.Dir(c.Checkpoint)
		if files, err = described(root); err != nil {
			return "", nil, err
		}
		files = append(files, c.Checkpoint)
	}
	if filepath.IsAbs(c.Weights) {
		found, err := hub.Inspect(c.Weights, w)
		if err != nil {
			return "", nil, err
		}
		for _, name := range found.Files {
			files = append(files, filepath.Join(c.Weights, name))
		}
		beside, err := described(c.Weights)
		if err != nil {
			return "", nil, err
		}
		files = append(files, beside...)
		if root == "" {
			root = c.Weights
		}
	}
	slices.Sort(files)
	return root, slices.Compact(files), nil
}

// described are the files of a folder that say how a model is built, and its
// own code: everything but weights.
func described(folder string) ([]string, error) {
	return filesIn(folder, func(name string) bool {
		return slices.Contains([]string{".json", ".py"}, filepath.Ext(name))
	})
}

// graphFiles are an ONNX file and what may hold its weights: graphs over two
// gigabytes keep them in files beside.
func graphFiles(path string) ([]string, error) {
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	data := []string{".data", ".onnx_data", ".bin", ".weight", ".weights"}
	files, err := filesIn(filepath.Dir(path), func(name string) bool {
		return slices.Contains(data, filepath.Ext(name)) || strings.HasPrefix(name, stem+".") || strings.HasPrefix(name, stem+"_")
	})
	files = append(files, path)
	slices.Sort(files)
	return slices.Compact(files), err
}

func filesIn(folder string, wanted func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("look at the model's files: %w", err)
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if !wanted(e.Name()) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // a link to a file counts too
			out = append(out, path)
		}
	}
	return out, nil
}
