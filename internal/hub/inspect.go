package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/safetensors"
)

// Weights are the files in a folder that hold a model's weights.
type Weights struct {
	Format Format
	Files  []string // in the order of their names
	Bytes  int64
	// Headers are those of the files, by name; none of a pickle.
	Headers map[string]safetensors.Header
}

// Inspect finds the weights in a folder and checks, by their headers alone,
// that they are whole. Pickles are not looked into.
func Inspect(folder string, w Want) (Weights, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return Weights{}, &Error{Kind: NoWeights, Problem: fmt.Sprintf("cannot read the folder: %v", err), Hint: "--weights is random, hub or a folder", Err: err}
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	main, err := pick(names, folder, w)
	if err != nil {
		return Weights{}, err
	}
	found := Weights{Format: main.Format, Files: []string{main.Name}}
	var index safetensors.Index
	if main.Index {
		if index, err = safetensors.OpenIndex(filepath.Join(folder, main.Name)); err != nil {
			return Weights{}, damaged(err)
		}
		found.Files = index.Files()
	}
	return found, found.check(folder, index)
}

// check opens each file, and checks the headers against the index.
func (w *Weights) check(folder string, index safetensors.Index) error {
	headers := map[string]safetensors.Header{}
	w.Headers = headers
	for _, name := range w.Files {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) { // Damaged and not NoWeights: some are there
			return &Error{Kind: Damaged, Problem: fmt.Sprintf("%s lacks %s, which the index of its weights names", folder, quoted(name)), Hint: "fetch the model's files again", Err: err}
		}
		if err != nil {
			return damaged(err)
		}
		w.Bytes += info.Size()
		if w.Format != Safetensors {
			continue
		}
		if headers[name], err = safetensors.Open(path); err != nil {
			return damaged(err)
		}
	}
	if w.Format == Safetensors {
		if err := index.Check(headers); err != nil {
			return damaged(fmt.Errorf("%s: %w", folder, err))
		}
	}
	return nil
}

func damaged(err error) error {
	return &Error{Kind: Damaged, Problem: err.Error(), Hint: "fetch the model's files again", Err: err}
}
