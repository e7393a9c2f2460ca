// Package skills writes a skill for a model: a standalone module that takes
// natural inputs (text, an image, audio, a video) and returns task outputs
// (text, labels, boxes, a vector), on whichever platform is there.
//
// A skill is composed, not written: tables say what it is made of, and templates
// hold the pieces. Each kind of natural input (naturals.go) brings how it is read
// and how random weights are given it; each task (answers.go) brings how outputs
// become an answer; each platform (places.go) brings its engine. What a type
// needs besides that is a row of data with its reason. plan turns a recipe into a
// skill, the values that templates are filled with; compose.go lists the pieces
// of a file in their order; Files renders them.
//
// Recipe → skill (plan) → pieces (composition) → generate.File.
package skills

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// Template is the version of the templates: it goes up with their text.
const Template = 6

//go:embed templates/*.tmpl
var sources embed.FS

var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("skills").Funcs(template.FuncMap{"assign": assign, "quoted": pytext.Quote, "js": script}).ParseFS(sources, "templates/*.tmpl")
})

// Files writes the skill of a model on platforms.
func Files(c *catalog.Catalog, chosen catalog.Choice, on []platform.Name) ([]generate.File, error) {
	s, err := plan(c, chosen, on)
	if err != nil {
		return nil, err
	}
	t, err := templates()
	if err != nil {
		return nil, err
	}
	var files []generate.File
	for _, f := range s.files() {
		text, err := joined(f.parts, f.apart, func(name string) (string, error) {
			var b bytes.Buffer
			err := t.ExecuteTemplate(&b, name, f.of)
			return b.String(), err
		})
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		files = append(files, generate.File{Name: f.name, Text: generate.Seal(text)})
	}
	return files, nil
}

// file is one of a skill's files: its pieces, and what stands between them.
type file struct {
	name  string
	of    skill
	parts []part
	apart string
}

// files are those that a skill consists of.
func (s skill) files() []file {
	const python, script = "\n\n\n", "\n\n"
	files := []file{
		{s.Stem + ".py", s, s.python(), python},
		{Test(s.Type), s, s.test(), python},
	}
	if s.inPages() {
		in := s.web()
		files = append(files,
			file{s.Stem + ".mjs", in, in.module(), script},
			file{s.Stem + ".html", in, []part{{"web page"}}, script},
			file{WebTest(s.Type), in, in.webTest(), script})
	}
	return files
}

// longest is how many lines a value may have before its lines are filled,
// between marks that ruff heeds.
const longest = 24

// assign is a statement that gives a name to a value.
func assign(name string, v any) (string, error) {
	switch given := v.(type) {
	case json.RawMessage:
		parsed, err := pytext.Parse(given)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		v = parsed
	case []string:
		v = list(given)
	}
	front := name + " = "
	text := pytext.Value(v, 0, len(front), 0)
	if strings.Count(text, "\n") <= longest {
		return front + text, nil
	}
	return "# fmt: off\n" + front + pytext.Fill(v, pytext.Width, 0, len(front), 0) + "\n# fmt: on", nil
}

func list(names []string) []any {
	out := []any{}
	for _, n := range names {
		out = append(out, n)
	}
	return out
}
