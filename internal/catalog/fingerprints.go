package catalog

import (
	"sync"

	"assay/internal/cell"
)

// fingerprintFile is what the tiny models gave when the catalogue was made, with
// which releases.
type fingerprintFile struct {
	Of    string                           `json:"of"`
	Types map[string]*cell.KeptFingerprint `json:"types"`
}

var fingerprints = sync.OnceValues(func() (fingerprintFile, error) {
	var file fingerprintFile
	err := readJSON("fingerprints", &file)
	return file, err
})

// Fingerprint returns what a type's tiny model gave with its default task, and
// the releases that it was kept of; nil where nothing was kept.
func (c *Catalog) Fingerprint(modelType, task string) (*cell.KeptFingerprint, string) {
	kept, err := fingerprints()
	if e, known := c.Get(modelType); err != nil || known && task != "" && task != e.Task {
		return nil, ""
	}
	return kept.Types[modelType], kept.Of
}
