package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/wholefile"
)

// Question is what a sheet answers.
type Question struct {
	// Source decides the model: its recipe, or the config.json that one is made from.
	Source []byte `json:"source"`
	Task   string `json:"task,omitempty"`
	Batch  int    `json:"batch"`
	Seq    int    `json:"seq"`
	Image  int    `json:"image"`
	// Versions are those of the packages, and of the runner itself.
	Versions map[string]string `json:"versions"`
}

// Key names the question.
func (q Question) Key() string {
	b, err := json.Marshal(q) // maps are written in the order of their keys
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// Answer is a sheet and the recipe it was derived from.
type Answer struct {
	Recipe json.RawMessage `json:"recipe"`
	Sheet  *Sheet          `json:"facts"`
}

// Cache keeps answers in a folder, a file each. The zero Cache keeps nothing.
type Cache struct{ Dir string }

// Get returns the answer to a question. A file that cannot be parsed counts as missing.
func (c Cache) Get(q Question) (Answer, bool) {
	if c.Dir == "" {
		return Answer{}, false
	}
	b, err := os.ReadFile(c.path(q))
	if err != nil {
		return Answer{}, false
	}
	var kept struct {
		Recipe json.RawMessage
		Facts  json.RawMessage
	}
	if json.Unmarshal(b, &kept) != nil {
		return Answer{}, false
	}
	sheet, err := Parse(kept.Facts)
	return Answer{kept.Recipe, sheet}, err == nil
}

// Put keeps an answer; it appears whole or not at all.
func (c Cache) Put(q Question, a Answer) error {
	if c.Dir == "" {
		return nil
	}
	b, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("save facts: %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("save facts: %w", err)
	}
	if err := wholefile.Write(c.path(q), b, wholefile.Options{}); err != nil {
		return fmt.Errorf("save facts: %w", err)
	}
	return nil
}

func (c Cache) path(q Question) string { return filepath.Join(c.Dir, q.Key()+".json") }
