package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// schema is the version of the catalogue's JSON that this program reads.
const schema = 1

// maxFile bounds a catalogue file: the embedded one has less than 1 MiB.
const maxFile = 64 << 20

// With returns the catalogue with its types replaced by those in b, the answer
// of another environment's introspection. Types of a library that b does not
// tell of, checkpoints, names and recipes stay.
func (c *Catalog) With(b []byte) (*Catalog, error) {
	other := *c
	if err := other.setTypes(b); err != nil {
		return nil, err
	}
	return &other, nil
}

// WithFile is With for a file, such as one kept for a release of transformers.
func (c *Catalog) WithFile(path string) (*Catalog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("catalogue of the environment: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s is too large to be a catalogue: remove it, and it is made again", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("catalogue of the environment: %w", err)
	}
	other, err := c.With(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, and it is made again", path, err)
	}
	return other, nil
}

func (c *Catalog) setTypes(b []byte) error {
	var file struct {
		Schema       int
		Transformers string
		Diffusers    string
		Types        []Entry
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return fmt.Errorf("cannot parse the catalogue: %w", err)
	}
	if file.Schema != schema {
		return fmt.Errorf("the catalogue has schema %d and this program reads %d: update the older of the two", file.Schema, schema)
	}
	if len(file.Types) == 0 {
		return errors.New("the catalogue holds no types")
	}
	told := map[string]bool{}
	for i, e := range file.Types {
		if e.Library == "" {
			file.Types[i].Library = Transformers
		}
		told[file.Types[i].Library] = true
	}
	if told[Transformers] {
		c.Transformers = file.Transformers
	}
	if told[Diffusers] {
		c.Diffusers = file.Diffusers
	}
	c.index(slices.DeleteFunc(slices.Clone(c.entries), func(e Entry) bool { return told[e.Library] }), file.Types)
	return nil
}

// index makes these the catalogue's entries.
func (c *Catalog) index(lists ...[]Entry) {
	c.entries = slices.Concat(lists...)
	slices.SortFunc(c.entries, func(a, b Entry) int { return strings.Compare(a.Type, b.Type) })
	c.byType = make(map[string]int, len(c.entries))
	for i, e := range c.entries {
		c.byType[e.Type] = i
	}
}
