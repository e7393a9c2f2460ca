package safetensors

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/input"
)

// maxIndex bounds an index; the largest published ones have some ten MB.
const maxIndex = 256 << 20

// Index says in which file of a checkpoint each tensor lies. Indexes of
// pickled weights are written alike.
type Index struct {
	// Tensors maps each tensor to its file, a bare file name.
	Tensors map[string]string
}

// OpenIndex reads the index at path.
func OpenIndex(path string) (Index, error) {
	f, err := input.Open(path)
	if err != nil {
		return Index{}, err
	}
	defer f.Close()
	x, err := ReadIndex(f)
	if err != nil {
		return Index{}, &Error{Path: path, Reason: err.Error()}
	}
	return x, nil
}

// ReadIndex reads an index. Its error goes on a sentence that begins with the
// file's name.
func ReadIndex(r io.Reader) (Index, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxIndex+1))
	if err != nil {
		return Index{}, fmt.Errorf("cannot be parsed: %w", err)
	}
	if len(text) > maxIndex {
		return Index{}, fmt.Errorf("is larger than %d MB: it is not an index", maxIndex>>20)
	}
	var file struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return Index{}, fmt.Errorf("is not an index of weights: %w", input.InWords(err))
	}
	if len(file.WeightMap) == 0 {
		return Index{}, fmt.Errorf("is not an index of weights: its weight_map is empty or missing")
	}
	for tensor, name := range file.WeightMap {
		if !bare(name) {
			return Index{}, fmt.Errorf("puts the tensor %.80q into %.80q, which is not a file beside it", tensor, name)
		}
	}
	return Index{file.WeightMap}, nil
}

// bare tells the name of a file in the same folder, on any system.
func bare(name string) bool {
	return name != "" && len(name) <= 255 && filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, "/\\:\x00")
}

// Files are the files that the index names, in order.
func (x Index) Files() []string {
	return slices.Compact(slices.Sorted(maps.Values(x.Tensors)))
}

// Check compares the index with the headers of its files, by name: each
// tensor must be where the index says.
func (x Index) Check(headers map[string]Header) error {
	there := map[string]string{}
	for file, h := range headers {
		for _, t := range h.Tensors {
			there[t.Name] = file
		}
	}
	for _, tensor := range slices.Sorted(maps.Keys(x.Tensors)) {
		if _, checked := headers[x.Tensors[tensor]]; checked && there[tensor] != x.Tensors[tensor] {
			return fmt.Errorf("the index puts the tensor %.80q into %s, which does not hold it", tensor, x.Tensors[tensor])
		}
	}
	return nil
}
