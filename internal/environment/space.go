package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Size is what the managed environment takes, in bytes.
type Size struct {
	Load uint64 // over the network
	Disk uint64 // when it is there
	Need uint64 // free on disk to begin with
}

// sizes were measured on the locked packages, Load on Linux by the counter of
// the network card. On Linux torch brings the CUDA libraries.
var sizes = map[string]Size{
	"linux":   {3.1e9, 5.5e9, 7e9},
	"darwin":  {0.3e9, 0.8e9, 2e9},
	"windows": {0.3e9, 0.8e9, 2e9},
}

// Sizes returns what the managed environment takes on this system.
func Sizes() Size {
	if s, ok := sizes[runtime.GOOS]; ok {
		return s
	}
	return sizes["linux"]
}

// Free returns the bytes free for the user on the disk of the folder, which
// need not exist yet, and an identity of that disk.
func Free(dir string) (bytes uint64, disk string, err error) {
	for {
		_, err = os.Stat(dir)
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			break
		}
		dir = parent
	}
	if err != nil {
		return 0, "", err
	}
	return freeOn(dir)
}

// checkRoom returns a sentence when a folder's disk is too full. uv links files
// from its cache into the environment; on two disks it has to copy.
func checkRoom(environments, cache string, need uint64) error {
	free, disk, err := Free(environments)
	if err != nil {
		return fmt.Errorf("cannot tell how much room there is for %s: %w", environments, err)
	}
	if free < need {
		return noRoom(environments, free, need)
	}
	freeCache, diskCache, err := Free(cache)
	if err == nil && diskCache != disk && freeCache < need {
		return noRoom(cache, freeCache, need)
	}
	return nil
}

func noRoom(dir string, free, need uint64) error {
	return &Error{Kind: NoSpace,
		Problem: fmt.Sprintf("%s are needed and %s are free on the disk of %s", Gigabytes(need), Gigabytes(free), dir),
		Hint:    "make room, or set ASSAY_HOME to a folder on another disk"}
}

// Gigabytes writes a number of bytes as people read it.
func Gigabytes(n uint64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }
