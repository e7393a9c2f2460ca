// Package exports manages the cache of exported models: what is in it,
// what may go, and how much it may hold.
//
// The runners fill the cache (runtimes/python/assay_runner/exporting/store.py);
// this package only reads, copies and removes. An entry is a folder named by
// its key, with a manifest that was written last, so an entry is there completely
// or not at all. Whoever uses an entry holds a shared lock on it: what is in
// use is never removed.
package exports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/filelock"
)

// Limit is how much the cache may hold when nobody says.
const Limit = 20 << 30

// keyLetters is how long a key is.
const keyLetters = 32

// schema is the version of manifests that this Assay writes and reads.
const schema = 1

// ManifestName is the file that says what an entry is.
const ManifestName = "manifest.json"

// DamagedFolder is the folder of an entry that has the model once more, damaged:
// for the check of an engine, and for nobody else.
const DamagedFolder = "damaged"

// GraphName is the file of an entry that is an ONNX graph.
const GraphName = "model.onnx"

// Cache is a folder of exported models. The folder need not exist.
type Cache struct{ Dir string }

// Entry is one exported model, or what an engine made of one.
type Entry struct {
	Key        string            `json:"key"`
	Kind       string            `json:"kind"` // onnx, openvino, qnn, coreml
	Type       string            `json:"type,omitempty"`
	Checkpoint string            `json:"checkpoint,omitempty"`
	Size       string            `json:"size,omitempty"`
	Of         string            `json:"of,omitempty"` // the key of what it was made from
	Versions   map[string]string `json:"versions,omitempty"`
	// Failed is why the model could not be exported: that is remembered too.
	Failed string `json:"failed,omitempty"`
	// Broken says that files are missing or cut: it is never used, and made
	// again when it is needed.
	Broken bool      `json:"broken,omitempty"`
	Bytes  int64     `json:"bytes"`
	MadeAt time.Time `json:"made_at"`
	UsedAt time.Time `json:"used_at"`

	files map[string]int64
}

// Model is how people call the entry's model.
func (e Entry) Model() string { return cmp.Or(e.Checkpoint, e.Type) }

// ErrInUse says that another process uses the entry now.
var ErrInUse = errors.New("another process uses it")

// List returns the entries, the last used first.
func (c Cache) List() ([]Entry, error) {
	folders, err := filepath.Glob(filepath.Join(c.Dir, "??", "????????????????????????????????"))
	if err != nil {
		return nil, fmt.Errorf("list exported models: %w", err)
	}
	entries := make([]Entry, 0, len(folders))
	for _, folder := range folders {
		entries = append(entries, read(folder))
	}
	whose := map[string]Entry{}
	for _, e := range entries {
		whose[e.Key] = e
	}
	for i, e := range entries {
		from := origin(e, whose)
		entries[i].Type, entries[i].Checkpoint, entries[i].Size = from.Type, from.Checkpoint, from.Size
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(a.Key, b.Key))
	})
	return entries, nil
}

// mostSteps is how far what an entry was made from may lie: a verdict of a
// compiled blob of a converted graph of a model.
const mostSteps = 8

// origin is the entry that names the model from which this one was made in the
// end; itself where it says so, or where that is no longer kept.
func origin(e Entry, whose map[string]Entry) Entry {
	from := e
	for range mostSteps {
		key, _, _ := strings.Cut(from.Of, "-") // one part of several
		next, ok := whose[key]
		if from.Type != "" || !ok {
			break
		}
		from = next
	}
	return from
}

// manifest is what a runner writes of an entry, as far as it matters here.
type manifest struct {
	Schema     int               `json:"schema"`
	Kind       string            `json:"kind"`
	Type       string            `json:"type"`
	Checkpoint string            `json:"checkpoint"`
	Size       string            `json:"size"`
	Of         string            `json:"of"`
	Versions   map[string]string `json:"versions"`
	MadeAt     int64             `json:"made_at"`
	Files      map[string]int64  `json:"files"`
	Failed     *struct {
		Message string `json:"message"`
	} `json:"failed"`
}

// read makes an entry of what lies in its folder. What cannot be read is broken.
func read(folder string) Entry {
	e := Entry{Key: filepath.Base(folder), Broken: true, Bytes: bytesIn(folder)}
	path := filepath.Join(folder, ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		return e
	}
	var m manifest
	if json.Unmarshal(text, &m) != nil || m.Schema != schema {
		return e
	}
	e.Kind, e.Type, e.Checkpoint, e.Size, e.Of, e.Versions = m.Kind, m.Type, m.Checkpoint, m.Size, m.Of, m.Versions
	e.MadeAt, e.files = time.Unix(m.MadeAt, 0).UTC(), m.Files
	if info, err := os.Stat(path); err == nil {
		e.UsedAt = info.ModTime().UTC()
	}
	if m.Failed != nil {
		e.Failed = m.Failed.Message
	}
	e.Broken = !whole(folder, m.Files)
	return e
}

func whole(folder string, files map[string]int64) bool {
	for name, size := range files {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		if !filepath.IsLocal(filepath.FromSlash(name)) || err != nil || info.Size() != size {
			return false
		}
	}
	return true
}

// bytesIn is what a folder takes on disk; what vanishes meanwhile counts nothing.
func bytesIn(folder string) int64 {
	var total int64
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file that another process just removed takes nothing
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

func (c Cache) folder(key string) string { return filepath.Join(c.Dir, key[:2], key) }

// hold takes an entry's lock. Closing the file lets it go.
func (c Cache) hold(key string, mode filelock.Mode) (*os.File, error) {
	locks := filepath.Join(c.Dir, "locks")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		return nil, fmt.Errorf("lock an exported model: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(locks, key), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock an exported model: %w", err)
	}
	if err := filelock.Try(f, mode); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = ErrInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Remove removes one entry, or returns ErrInUse.
func (c Cache) Remove(key string) error {
	lock, err := c.hold(key, filelock.Exclusive)
	if err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	defer lock.Close()
	if err := os.RemoveAll(c.folder(key)); err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	return nil
}
