package environment

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"assay/runtimes/web"
)

// Web is the environment of the pages: the packages that they load and, where
// there is one for the machine, a Chromium of Assay's own. It is a value.
type Web struct {
	Dir      string            `json:"dir"`
	Versions map[string]string `json:"versions"` // by package, "npm", and "chromium" where it is packed
	environ  []string
}

// Chromium returns the path of the packed Chromium; "" where there is none.
func (w Web) Chromium() string {
	if w.Dir == "" || w.Versions["chromium"] == "" {
		return ""
	}
	return filepath.Join(w.Dir, chromiumFolder, chromiumProgram)
}

// Package returns the folder of an installed package.
func (w Web) Package(name string) string {
	return filepath.Join(w.Dir, "node_modules", filepath.FromSlash(name))
}

// ErrNoWeb says that no web environment matches this version of Assay.
var ErrNoWeb = errors.New("the web environment is not installed: run assay setup web")

// webManifest is written into a web environment when it is whole.
type webManifest struct {
	Schema   int               `json:"schema"`
	Versions map[string]string `json:"versions"`
	Files    map[string]int64  `json:"files"` // sizes, by path
	Created  time.Time         `json:"created"`
	Seconds  float64           `json:"seconds"` // it took to make
}

// webLists are the lists of packages that make up the web environment on this
// machine, by the folder each is installed in.
func webLists() map[string]fs.FS {
	lists := map[string]fs.FS{".": web.Packages()}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		lists[chromiumFolder] = web.Chromium()
	}
	return lists
}

// OpenWeb returns the web environment, and makes it if it is not there. With
// NoSetup or ASSAY_OFFLINE it returns an Error of kind Forbidden rather than
// install.
func (m *Maker) OpenWeb(ctx context.Context, c Choice) (Web, error) {
	found, err := m.FindWeb()
	if !errors.Is(err, ErrNoWeb) {
		return found, err
	}
	if why := m.forbids(c); why != "" {
		return Web{}, &Error{Kind: Forbidden, Err: ErrNoWeb,
			Problem: "the web environment is not installed, and " + why, Hint: "run assay setup web first"}
	}
	return m.SetupWeb(ctx)
}

// FindWeb returns the web environment of this version's locks, or ErrNoWeb. It
// starts no process.
func (m *Maker) FindWeb() (Web, error) {
	dir, err := m.webDir()
	if err != nil {
		return Web{}, err
	}
	is, err := readWebManifest(dir)
	if err != nil {
		return Web{}, ErrNoWeb
	}
	return Web{Dir: dir, Versions: is.Versions, environ: m.environ}, nil
}

// webDir is where the web environment lies when it is whole: named by all that
// decides what is in it.
func (m *Maker) webDir() (string, error) {
	var files []source
	for _, folder := range sortedKeys(m.web) {
		list, err := read(m.web[folder])
		if err != nil {
			return "", err
		}
		files = append(files, source{folder, nil})
		files = append(files, list...)
	}
	return filepath.Join(m.folders.environments(), "web-"+contentHash(files)+"-"+runtime.GOOS+"-"+runtime.GOARCH), nil
}

func readWebManifest(dir string) (webManifest, error) {
	var is webManifest
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err == nil && is.Schema != 1 {
		err = errors.New("it was made by another version of Assay")
	}
	return is, err
}

// InspectWeb returns the files of a web environment that are gone or have
// a different size from when it was made. It takes a moment.
func (m *Maker) InspectWeb(w Web) ([]string, error) {
	is, err := readWebManifest(w.Dir)
	if err != nil {
		return nil, err
	}
	var damaged []string
	for _, name := range sortedKeys(is.Files) {
		info, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(name)))
		if err != nil || info.Size() != is.Files[name] {
			damaged = append(damaged, name)
		}
	}
	return damaged, nil
}
