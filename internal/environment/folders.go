package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Folders are the places on disk that Assay owns.
type Folders struct {
	Data   string `json:"data"`   // environments, database, journals: what would be missed
	Cache  string `json:"cache"`  // what can be made again
	Config string `json:"config"` // what the user writes
	// Moved tells that ASSAY_HOME named them, so that caches of other programs
	// that Assay fills (uv's) must lie there too.
	Moved bool `json:"moved"`
}

// FindFolders returns the folders for an environment: ASSAY_HOME, else the XDG
// folders, on Windows the local application data. It creates nothing.
func FindFolders(getenv func(string) string) (Folders, error) {
	return findFolders(getenv, runtime.GOOS)
}

func findFolders(getenv func(string) string, goos string) (Folders, error) {
	if home := getenv("ASSAY_HOME"); home != "" {
		abs, err := filepath.Abs(home)
		if err != nil {
			return Folders{}, fmt.Errorf("ASSAY_HOME %q is not a usable path: %w", home, err)
		}
		return under(abs, true), nil
	}
	if goos == "windows" {
		local := getenv("LOCALAPPDATA")
		if local == "" {
			return Folders{}, errors.New("neither LOCALAPPDATA nor ASSAY_HOME is set: set ASSAY_HOME to a folder for Assay's files")
		}
		return under(filepath.Join(local, "assay"), false), nil
	}
	return xdg(getenv)
}

func under(home string, moved bool) Folders {
	return Folders{filepath.Join(home, "data"), filepath.Join(home, "cache"), filepath.Join(home, "config"), moved}
}

func xdg(getenv func(string) string) (Folders, error) {
	var f Folders
	for _, row := range []struct {
		to       *string
		variable string
		fallback string
	}{
		{&f.Data, "XDG_DATA_HOME", ".local/share"},
		{&f.Cache, "XDG_CACHE_HOME", ".cache"},
		{&f.Config, "XDG_CONFIG_HOME", ".config"},
	} {
		base := getenv(row.variable)
		if !filepath.IsAbs(base) { // the XDG specification: relative ones are ignored
			home := getenv("HOME")
			if !filepath.IsAbs(home) {
				return Folders{}, fmt.Errorf("neither HOME, %s nor ASSAY_HOME is set: set ASSAY_HOME to a folder for Assay's files", row.variable)
			}
			base = filepath.Join(home, row.fallback)
		}
		*row.to = filepath.Join(base, "assay")
	}
	return f, nil
}

// Create makes the data, cache and config folders, for the user alone.
func (f Folders) Create() error {
	for _, dir := range []string{f.Data, f.Cache, f.Config} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return &Error{Kind: NoPermission, Err: err,
				Problem: fmt.Sprintf("cannot create the folder %s (%v)", dir, errors.Unwrap(err)),
				Hint:    "make it writable, or set ASSAY_HOME to another folder"}
		}
	}
	return nil
}

func (f Folders) environments() string { return filepath.Join(f.Data, "environments") }
func (f Folders) boot() string         { return filepath.Join(f.Data, "boot") }
func (f Folders) sources() string      { return filepath.Join(f.Cache, "runner") }
func (f Folders) instructions() string { return filepath.Join(f.Cache, "instructions") }

// Detections is the folder of what is kept of machines and models between runs:
// answers of detection, recipes that were searched for, facts.
func (f Folders) Detections() string { return filepath.Join(f.Cache, "detect") }

// Exports is the folder of exported models.
func (f Folders) Exports() string { return filepath.Join(f.Cache, "exports") }

// SetupLog is the file that holds everything the installers said last time.
func (f Folders) SetupLog() string { return filepath.Join(f.Cache, "setup.log") }
