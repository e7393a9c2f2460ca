package exports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
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

// sweep removes folders in the making whose maker is gone for good.
func (c Cache) sweep(now time.Time) error {
	making, err := filepath.Glob(filepath.Join(c.Dir, "making-*"))
	if err != nil {
		return fmt.Errorf("look for unfinished exports: %w", err)
	}
	for _, folder := range making {
		info, err := os.Stat(folder)
		if err != nil || now.Sub(info.ModTime()) < unfinished {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove an unfinished export: %w", err)
		}
	}
	return nil
}
