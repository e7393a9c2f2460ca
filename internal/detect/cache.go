package detect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/platform"
	"assay/internal/wholefile"
)

// CacheLife is how long an answer is believed: a driver may be updated under
// us without any of the key's parts changing.
const CacheLife = 24 * time.Hour

// Cache keeps answers in a folder, one file for each probe and key. It is a
// decorator of a Child; a cache that cannot be read or written is as good as
// none.
type Cache struct {
	Dir   string
	Key   string
	Fresh bool // ask again, and keep the new answer
	Now   func() time.Time
}

// NewCache makes the cache for one Python on one machine as it stands now: the
// key changes with the Python, the machine, its drivers and the variables that
// hide devices.
func NewCache(dir, python string, s Sighting) Cache {
	parts := []string{python, modified(python), host(s).ID}
	for _, name := range platform.Names() {
		parts = append(parts, s.Platforms[name].Driver)
	}
	for _, row := range variables {
		value, set := s.Environment[row.name]
		parts = append(parts, fmt.Sprintf("%s=%q %t", row.name, value, set))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return Cache{Dir: dir, Key: hex.EncodeToString(sum[:12]), Now: time.Now}
}

// modified is the time of a Python and of its packages' folder, so that an
// installation is noticed.
func modified(python string) string {
	var times []string
	root := filepath.Dir(filepath.Dir(python))
	packages, _ := filepath.Glob(filepath.Join(root, "lib", "python3*", "site-packages"))
	for _, name := range append([]string{python, filepath.Join(root, "Lib", "site-packages")}, packages...) {
		if info, err := os.Stat(name); err == nil {
			times = append(times, info.ModTime().UTC().Format(time.RFC3339Nano))
		}
	}
	return strings.Join(times, " ")
}

type cached struct {
	Schema int             `json:"schema"`
	At     time.Time       `json:"at"`
	Out    json.RawMessage `json:"out"`
}

// Around returns a child that answers from the cache where it can. Only whole
// answers are kept; a failure is asked again.
func (c Cache) Around(child Child) Child {
	return func(ctx context.Context, probe string) ([]byte, error) {
		if out, ok := c.load(probe); ok {
			return out, nil
		}
		out, err := child(ctx, probe)
		if err == nil && parseAnswer(out).Error == "" {
			c.save(probe, out)
		}
		return out, err
	}
}

func (c Cache) file(probe string) string {
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%s.json", probe, c.Key))
}

func (c Cache) load(probe string) ([]byte, bool) {
	if c.Fresh {
		return nil, false
	}
	data, err := os.ReadFile(c.file(probe))
	if err != nil {
		return nil, false
	}
	var kept cached
	if json.Unmarshal(data, &kept) != nil || kept.Schema != Schema {
		return nil, false
	}
	age := c.Now().Sub(kept.At)
	if age < 0 || age > CacheLife || len(kept.Out) == 0 {
		return nil, false
	}
	return kept.Out, true
}

// save replaces the file in one step, and clears away what is too old.
func (c Cache) save(probe string, out []byte) {
	data, err := json.Marshal(cached{Schema, c.Now().UTC(), json.RawMessage(out)})
	if err != nil || os.MkdirAll(c.Dir, 0o755) != nil {
		return
	}
	if wholefile.Write(c.file(probe), data, wholefile.Options{}) == nil {
		c.prune(probe)
	}
}

func (c Cache) prune(probe string) {
	others, err := fs.Glob(os.DirFS(c.Dir), probe+"-*.json")
	if err != nil {
		return
	}
	for _, name := range others {
		full := filepath.Join(c.Dir, name)
		info, err := os.Stat(full)
		if err == nil && c.Now().Sub(info.ModTime()) > CacheLife {
			os.Remove(full)
		}
	}
}
