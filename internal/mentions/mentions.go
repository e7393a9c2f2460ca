// Package mentions finds the models that a project names: what its Python and
// JavaScript loads by from_pretrained or pipeline, what its notebooks do, and what its
// configuration files and scripts say under a model's key. It reads text and runs
// nothing.
//
// A Mention is a name with the place where it stands. A name that is a constant
// somewhere in the same file is followed to it (MODEL = "a/b", a loop over a list of names,
// a default of an environment variable, a text of parts); what cannot be followed is listed as
// Untold, with what stands there. A pipeline without a model is the task's default, as
// transformers has it for Python and transformers.js for JavaScript. Tokenizers, processors and configurations alone name no model
// that runs, and are passed over.
//
// What is looked at is bounded: folders of other people's code (vendored, installed,
// built) are passed over, and so are files that are too large, which are listed.
package mentions

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The bounds of a search.
const (
	maxEntries    = 500_000  // files of any kind, and folders
	maxFiles      = 20_000   // that are read
	maxBytes      = 2 << 20  // of a file
	maxNotebook   = 32 << 20 // they hold pictures
	maxMentions   = 2_000
	maxTokens     = 400_000 // of a file
	maxExpression = 500     // tokens
	maxFollowing  = 16      // values of one name
	maxPattern    = 2_000   // bytes of a regular expression
	maxNested     = 50      // texts with programs in them, inside of each other
)

// Mention is a model that a project names.
type Mention struct {
	Name string `json:"name"` // as it stands there; a folder with a config.json is relative to the project
	File string `json:"file"`
	Line int    `json:"line"`
	How  string `json:"how"`            // from_pretrained, pipeline, the default of pipeline("fill-mask"), the key model_id
	Task string `json:"task,omitempty"` // of a pipeline
	// Class is the class that it is loaded as, and Type the model type where the default
	// of a pipeline tells it.
	Class string `json:"class,omitempty"`
	Type  string `json:"type,omitempty"`
	Local bool   `json:"local,omitempty"` // a folder of the project, or its config.json
}

// Place is where it stands.
func (m Mention) Place() string { return fmt.Sprintf("%s:%d", m.File, m.Line) }

// Found is what a project names.
type Found struct {
	Files    int       `json:"files"` // that were read
	Mentions []Mention `json:"mentions"`
	Untold   []Mention `json:"untold"`         // loaded by a name that cannot be told without running the project
	Skipped  []string  `json:"skipped"`        // files that are too large, or cannot be read
	More     bool      `json:"more,omitempty"` // there is more than was looked at
}

// passed are folders with other people's code or with what was made.
var passed = []string{"node_modules", "vendor", "vendored", "_vendor", "third_party", "thirdparty", "external", "site-packages", "dist-packages", "venv", "env",
	"__pycache__", "build", "dist", "target", "wandb", "htmlcov"}

// Find looks through a project, until ctx ends.
func Find(ctx context.Context, project fs.FS) (Found, error) {
	f := &finder{project: project}
	entries := 0
	err := fs.WalkDir(project, ".", func(name string, e fs.DirEntry, err error) error {
		switch entries++; {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == ".":
			return err
		case err != nil:
			f.found.Skipped = append(f.found.Skipped, name)
			return nil //nolint:nilerr // it is listed, and the search goes on
		case e.IsDir() && name != "." && f.foreign(name, e.Name()):
			return fs.SkipDir
		case entries > maxEntries || f.found.Files >= maxFiles || len(f.found.Mentions)+len(f.found.Untold) >= maxMentions:
			f.found.More = true
			return fs.SkipAll
		case e.Type().IsRegular():
			f.file(name)
		}
		return nil
	})
	f.sort()
	return f.found, err
}

// finder is a search.
type finder struct {
	project fs.FS
	found   Found
	uses    bool // the file that is looked at names transformers or transformers.js
}

func (f *finder) foreign(name, base string) bool {
	if strings.HasPrefix(base, ".") || slices.Contains(passed, base) || strings.HasSuffix(base, ".egg-info") {
		return true
	}
	_, err := fs.Stat(f.project, path.Join(name, "pyvenv.cfg"))
	return err == nil
}

// file looks into one that may name models.
func (f *finder) file(name string) {
	read, most := reader(name), int64(maxBytes)
	if read == nil {
		return
	}
	if path.Ext(name) == ".ipynb" {
		most = maxNotebook
	}
	text, err := f.read(name, most)
	if err != nil || int64(len(text)) > most {
		f.found.Skipped = append(f.found.Skipped, name)
		return
	}
	f.found.Files++
	read(f, name, text)
}

func (f *finder) read(name string, most int64) ([]byte, error) {
	in, err := f.project.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most+1))
}

// reader is what reads a file of this name; nil for one that names no models.
func reader(name string) func(*finder, string, []byte) {
	base := path.Base(name)
	switch strings.ToLower(path.Ext(base)) {
	case ".py":
		return (*finder).python
	case ".ipynb":
		return (*finder).notebook
	case ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx":
		return (*finder).script
	case ".json":
		if base == "package-lock.json" || strings.HasPrefix(base, "tokenizer") {
			return nil
		}
		return (*finder).config
	case ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".properties":
		return (*finder).config
	case ".sh", ".bash", ".ps1", ".bat", ".mk":
		return (*finder).shell
	}
	if strings.HasPrefix(base, "Dockerfile") || strings.HasPrefix(base, "Containerfile") || base == "Makefile" || base == "Procfile" || base == ".env" {
		return (*finder).shell
	}
	return nil
}

// hubName is a model's on the Hub: owner/name.
var hubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}$`)

// bareName is one without an owner, as old models have.
var bareName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$`)

// add adds a mention whose name is one of a model: loaded says that the place loads a
// model, so that a name without an owner is one too.
func (f *finder) add(m Mention, loaded bool) {
	name := strings.TrimSuffix(m.Name, "/")
	if local := f.local(name, m.File); local != "" && loaded {
		m.Name, m.Local = local, true
	} else if !hubName.MatchString(name) && (!loaded || !bareName.MatchString(name)) || hasFileEnding(name) {
		if loaded { // a folder or a file that is not here
			f.found.Untold = append(f.found.Untold, m)
		}
		return
	}
	f.found.Mentions = append(f.found.Mentions, m)
}

// hasFileEnding tells files from models that have a point in their name.
func hasFileEnding(name string) bool {
	return slices.Contains([]string{".py", ".json", ".yaml", ".yml", ".txt", ".pt", ".pth", ".bin", ".ckpt", ".onnx", ".safetensors", ".gguf", ".toml", ".sh"}, strings.ToLower(path.Ext(name)))
}

// local is a folder of the project with a config.json; "" where a name is none.
func (f *finder) local(name, file string) string {
	for _, base := range []string{".", path.Dir(file)} {
		folder := path.Join(base, name)
		if !fs.ValidPath(folder) || folder == "." {
			continue
		}
		if info, err := fs.Stat(f.project, path.Join(folder, "config.json")); err == nil && info.Mode().IsRegular() {
			return folder
		}
	}
	return ""
}

// sort puts mentions in the order of names and places, each once.
func (f *finder) sort() {
	order := func(a, b Mention) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.How, b.How))
	}
	for _, list := range []*[]Mention{&f.found.Mentions, &f.found.Untold} {
		slices.SortFunc(*list, order)
		*list = slices.CompactFunc(*list, func(a, b Mention) bool { return a.Name == b.Name && a.File == b.File && a.Line == b.Line })
	}
	slices.Sort(f.found.Skipped)
}
