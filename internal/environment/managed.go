package environment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/runtimes/python"
)

// Maker makes and finds environments. Its methods may be called from several
// goroutines and several processes at once.
type Maker struct {
	folders Folders
	environ []string
	pass    []string // variables that children get beside the usual ones
	say     func(string)
	sources fs.FS
	lock    []byte  // what the managed environment holds
	wanted  []byte  // what that was made from
	release Release // of which this is not the locked version; zero is none
	lockUV  []byte  // what installs it
	size    Size
	web     map[string]fs.FS // what the web environment holds, by folder
	cpuinfo string           // the file that describes the processor
}

// New returns a Maker for the folders. environ are the process's environment
// variables; say is told, a line at a time, what is being done.
func New(folders Folders, environ []string, say func(string)) *Maker {
	return &Maker{folders: folders, environ: environ, say: say, sources: python.Sources(),
		lock: python.Requirements(), wanted: python.Wanted(), lockUV: python.Boot(), size: Sizes(), web: webLists(), cpuinfo: "/proc/cpuinfo"}
}

// Choice is what the user asked for.
type Choice struct {
	Python  string // --python: the user's own environment; "" is the managed one
	NoSetup bool   // --no-setup: install nothing
}

// Open returns the chosen environment, and makes the managed one if it is not
// there. With NoSetup or ASSAY_OFFLINE it returns an Error of kind Forbidden
// rather than install.
func (m *Maker) Open(ctx context.Context, c Choice) (Environment, error) {
	if c.Python != "" {
		return m.User(ctx, c.Python)
	}
	env, err := m.Find(ctx)
	if !errors.Is(err, ErrAbsent) {
		return env, err
	}
	if why := m.forbids(c); why != "" {
		return Environment{}, &Error{Kind: Forbidden, Err: ErrAbsent,
			Problem: "the Python environment is not installed, and " + why,
			Hint:    "run assay setup first, or name your own with --python PATH"}
	}
	return m.Setup(ctx)
}

// forbids says what keeps Assay from installing anything; "" is nothing.
func (m *Maker) forbids(c Choice) string {
	switch {
	case c.NoSetup:
		return "--no-setup forbids installing"
	case m.on("ASSAY_OFFLINE"):
		return "ASSAY_OFFLINE forbids installing"
	}
	return ""
}

// ErrAbsent says that no managed environment matches this version of Assay.
var ErrAbsent = errors.New("the Python environment is not installed: run assay setup")

// manifest is written into an environment when it is whole.
type manifest struct {
	Schema   int               `json:"schema"`
	Lock     string            `json:"lock"`
	Python   Python            `json:"python"`
	UV       string            `json:"uv"`
	Versions map[string]string `json:"versions"`
	Missing  []string          `json:"missing,omitempty"`
	Private  map[string]string `json:"private,omitempty"`
	Created  time.Time         `json:"created"`
	Seconds  float64           `json:"seconds"` // it took to make
}

const manifestName = "assay.json"

// Find returns the managed environment of this version's lock, or ErrAbsent.
// It starts no process unless ASSAY_PYTHON asks for one Python among several.
func (m *Maker) Find(ctx context.Context) (Environment, error) {
	want := ""
	if named := lookup(m.environ)("ASSAY_PYTHON"); named != "" {
		p, err := FindPython(ctx, named)
		if err != nil {
			return Environment{}, err
		}
		want = p.tag()
	}
	entries, err := os.ReadDir(m.folders.environments())
	if errors.Is(err, fs.ErrNotExist) {
		return Environment{}, ErrAbsent
	}
	if err != nil {
		return Environment{}, fmt.Errorf("cannot look for environments: %w", err)
	}
	for _, e := range slices.Backward(entries) {
		lock, tag, _ := strings.Cut(e.Name(), "-")
		if lock != hash(m.lock) || want != "" && tag != want {
			continue
		}
		if env, err := m.load(filepath.Join(m.folders.environments(), e.Name())); !errors.Is(err, ErrAbsent) {
			return env, err
		}
	}
	return Environment{}, ErrAbsent
}

// load returns the environment in dir if it is whole and its Python still there.
func (m *Maker) load(dir string) (Environment, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return Environment{}, ErrAbsent
	}
	var is manifest
	if json.Unmarshal(text, &is) != nil || is.Schema != 1 || is.Lock != hash(m.lock) {
		return Environment{}, ErrAbsent
	}
	// The interpreter is a link to the one it was made from, which may be gone.
	if _, err := os.Stat(pythonIn(dir)); err != nil {
		return Environment{}, ErrAbsent
	}
	runner, err := unpack(m.sources, m.folders.sources())
	if err != nil {
		return Environment{}, err
	}
	env := Environment{ID: filepath.Base(dir), Python: pythonIn(dir), PythonPath: runner, Managed: true,
		Versions: is.Versions, Missing: is.Missing, Private: is.Private, environ: m.inherited()}
	return m.hosted(env, true), nil
}

func (m *Maker) on(variable string) bool { return On(lookup(m.environ)(variable)) }

// hash names a lock by its content.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
