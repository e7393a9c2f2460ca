package exports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/filelock"
)

// unfinished is how old a folder in the making must be before its maker is
// taken for dead: the longest export with much time to spare.
const unfinished = 6 * time.Hour

// Collected is what clearing up did.
type Collected struct {
	Removed []Entry `json:"removed"`
	InUse   int     `json:"in_use"` // entries that should have gone and are used now
	Freed   int64   `json:"freed_bytes"`
	Left    int64   `json:"left_bytes"`
}

// Collect removes what is broken or was never finished, and then what was not
// used for longest, until no more than limit bytes are left.
func (c Cache) Collect(limit int64) (Collected, error) {
	var out Collected
	if err := c.sweep(time.Now()); err != nil {
		return out, err
	}
	entries, err := c.List()
	if err != nil {
		return out, err
	}
	for _, e := range entries {
		out.Left += e.Bytes
	}
	for _, e := range slices.Backward(entries) {
		if !e.Broken && out.Left <= limit {
			continue
		}
		switch err := c.Remove(e.Key); {
		case errors.Is(err, ErrInUse):
			out.InUse++
		case err != nil:
			return out, err
		default:
			out.Removed = append(out.Removed, e)
			out.Freed += e.Bytes
			out.Left -= e.Bytes
		}
	}
	return out, nil
}

// abandoned reports whether nobody makes a folder now: whoever does holds
// the lock of its key, which stands in its name. A name without one tells only
// by its age.
func (c Cache) abandoned(folder string, now time.Time) (release func(), gone bool) {
	key, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), "making-"), "-")
	if len(key) == keyLetters {
		lock, err := c.hold(key, filelock.Exclusive)
		if err != nil {
			return nil, false
		}
		return func() { lock.Close() }, true
	}
	info, err := os.Stat(folder)
	return func() {}, err == nil && now.Sub(info.ModTime()) >= unfinished
}

// sweep removes folders in the making whose maker is gone for good.
func (c Cache) sweep(now time.Time) error {
	making, err := filepath.Glob(filepath.Join(c.Dir, "making-*"))
	if err != nil {
		return fmt.Errorf("look for unfinished exports: %w", err)
	}
	for _, folder := range making {
		release, gone := c.abandoned(folder, now)
		if !gone {
			continue
		}
		err := os.RemoveAll(folder)
		release()
		if err != nil {
			return fmt.Errorf("remove an unfinished export: %w", err)
		}
	}
	return nil
}
