package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"assay/internal/environment"
	"assay/internal/filelock"
)

// profile is the folder that holds everything a browser writes: its settings,
// its caches, its temporary files, what it takes for the user's home. A lock
// beside it is held as long as the browser is used, so that another process
// can tell a profile in use from one that a killed process left.
type profile struct {
	dir  string
	lock *os.File
}

const (
	profilePrefix = "assay-browser-"
	lockSuffix    = ".lock"
)

// mostPath is how long the path of the folder for profiles may be: Chromium
// puts a socket 72 bytes further down, and the path of one has 107 bytes at
// most, on macOS 103.
const mostPath = 31

// profileFolder is where profiles are: the folder of temporary files, unless
// its path is too long for sockets.
func profileFolder() string {
	const short = "/tmp"
	if dir := os.TempDir(); len(dir) <= mostPath || runtime.GOOS == "windows" {
		return dir
	}
	if info, err := os.Stat(short); err != nil || !info.IsDir() {
		return os.TempDir()
	}
	return short
}

func newProfile() (*profile, error) {
	lock, err := newLock()
	if err != nil {
		return nil, fmt.Errorf("no folder for the browser's profile: %w", err)
	}
	p := &profile{dir: strings.TrimSuffix(lock.Name(), lockSuffix), lock: lock}
	if err := os.MkdirAll(p.temp(), 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("no folder for the browser's profile: %w", err), p.remove())
	}
	return p, nil
}

// lockTries is how often a lock may be swept away before it is held.
const lockTries = 100

// newLock makes a lock and holds it. A file cannot be made and locked at once:
// where another process sweeps in between, another one is made.
func newLock() (*os.File, error) {
	var err error
	for range lockTries {
		lock, made := os.CreateTemp(profileFolder(), profilePrefix+"*"+lockSuffix)
		if made != nil {
			return nil, made
		}
		if err = filelock.Try(lock, filelock.Exclusive); err == nil && inPlace(lock) {
			return lock, nil
		}
		swept := err == nil || errors.Is(err, filelock.ErrHeld)
		if gone := dropLock(lock); !swept {
			return nil, errors.Join(err, gone)
		}
	}
	return nil, fmt.Errorf("every lock was swept away by other processes: %w", err)
}

// inPlace reports whether a file still has its name.
func inPlace(f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(held, named)
}

// temp is where the browser puts its temporary files.
func (p *profile) temp() string { return filepath.Join(p.dir, "t") }

// confine returns the variables that keep in a profile what a browser would
// write elsewhere.
func confine(dir string) []string {
	return []string{
		"HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "t"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
	}
}

// needs are the variables that a browser has a use for and other children do not.
var needs = []string{"DBUS_SESSION_BUS_ADDRESS", "FONTCONFIG_FILE", "FONTCONFIG_PATH"}

// environ is what a browser gets of this process's variables, with the changes
// given: as every child, nothing that may be a secret.
func environ(changes ...[]string) []string {
	return append(environment.Allowed(os.Environ(), needs), slices.Concat(changes...)...)
}

// removePatience is how long a dying process may go on writing.
const removePatience = 5 * time.Second

func (p *profile) remove() error {
	var err error
	for deadline := time.Now().Add(removePatience); ; time.Sleep(20 * time.Millisecond) {
		if err = os.RemoveAll(p.dir); err == nil || time.Now().After(deadline) {
			break
		}
	}
	return errors.Join(err, dropLock(p.lock))
}

// dropLock removes a lock that is held. Windows removes no open file.
func dropLock(lock *os.File) error {
	first := os.Remove(lock.Name())
	err := lock.Close()
	if first == nil {
		return err
	}
	if gone := os.Remove(lock.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// sweepProfiles removes the profiles whose owner was killed.
func sweepProfiles() {
	locks, _ := filepath.Glob(filepath.Join(profileFolder(), profilePrefix+"*"+lockSuffix))
	for _, name := range locks {
		lock, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue // another user's, or just gone
		}
		if filelock.Try(lock, filelock.Exclusive) != nil {
			lock.Close()
			continue
		}
		_ = os.RemoveAll(strings.TrimSuffix(name, lockSuffix))
		_ = dropLock(lock)
	}
}
