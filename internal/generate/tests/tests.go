// Package tests writes a test file for a model: one that its maintainers would
// merge, that runs under pytest and alone, and that can be read without Assay.
//
// A file is put together from three kinds of templates. The frame (file.tmpl)
// holds the questions that are asked of every model. A builder
// (builders/*.tmpl), which the program of the recipe chooses, brings how a model
// is built, fed and called: by one forward, or as a generation, a whole
// diffusion pipeline, a search in documents, a session about a video. A pipeline
// (pipelines/*.tmpl) brings the questions that make sense for its kind alone.
// What a file's text depends on is therefore its model's recipe, what was seen of
// the model when the catalogue was made (catalog.Expectation), and the names of
// the requested platforms. What all files of a folder share is conftest.py
// (conftest/*.tmpl): what a platform is (platforms/*.tmpl: its device and dtypes,
// whether it is here, how to wait for it and how to free its memory) and how a
// model is tested there. It depends only on the platforms. A file that would be
// too long has its values in wider lines.
//
// Recipe → Model (values as Python) → template → generate.File.
package tests

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"text/template"

	"assay/internal/generate"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// Template is the version of the templates: it goes up with their text.
const Template = 4

//go:embed templates
var sources embed.FS

// Longest is how many lines a test file has at most.
const Longest = 200

// widths are tried until a file is short enough: of lines that are filled with
// as many elements as fit, or 0 for ruff's own layout. Few models need lines that
// are wider than ruff's: those made of several, whose configuration is long.
var widths = []int{0, pytext.Width, 120, 160, 200, 240}

// TooLongError is why a model has no file: it would have too many lines.
type TooLongError struct {
	Type  string
	Lines int
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the test of %s would have %d lines, more than %d: its configuration is too long", e.Type, e.Lines, Longest)
}

// File writes the test of a model on platforms.
func File(m Model, on []platform.Name) (generate.File, error) {
	lines := 0
	for _, m.width = range widths {
		text, err := file(m, on)
		if err != nil {
			return generate.File{}, err
		}
		if lines = strings.Count(text, "\n"); lines <= Longest {
			return generate.File{Name: Name(m.Type), Text: generate.Seal(text)}, nil
		}
	}
	return generate.File{}, &TooLongError{m.Type, lines}
}

// file is its text, in lines of the model's width.
func file(m Model, on []platform.Name) (string, error) {
	view := struct {
		Model
		Stamp     generate.Stamp
		Platforms []string
		Browsers  bool
		Subjects  bool

		KeepFrom, KeepTo string

		PlatformNames string
	}{Model: m, KeepFrom: generate.KeepFrom, KeepTo: generate.KeepTo}
	tuple := pytext.Tuple{}
	for _, p := range inOrder(m.Family, on) {
		view.Platforms = append(view.Platforms, string(p.Name))
		tuple = append(tuple, string(p.Name))
		view.Browsers = view.Browsers || p.inBrowser()
		view.Subjects = view.Subjects || !p.inBrowser()
	}
	view.PlatformNames = m.assigned("PLATFORMS", tuple)
	view.Stamp = generate.Stamp{Kind: "test", Model: m.Type, Versions: m.Versions, Template: Template, Platforms: view.Platforms}
	return render("file.tmpl", view)
}

// Name is the name of a type's test file.
func Name(modelType string) string { return "test_hf_" + pytext.Identifier(modelType) + ".py" }

// render is the text of a template, not sealed yet.
func render(root string, view any) (string, error) {
	all, err := templates()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := all.ExecuteTemplate(&b, root, view); err != nil {
		return "", fmt.Errorf("write from %s: %w", root, err)
	}
	return b.String(), nil
}

// templates are the embedded sources, parsed once. One that another chooses by a
// value (the platform's, the pipeline's) is called by include.
var templates = sync.OnceValues(func() (*template.Template, error) {
	t := template.New("tests")
	t.Funcs(template.FuncMap{
		"include": func(name string, view any) (string, error) {
			var b bytes.Buffer
			err := t.ExecuteTemplate(&b, name, view)
			return strings.Trim(b.String(), "\n"), err
		},
		"quoted": quoted,
		"skip":   skip,
	})
	files, err := fs.Glob(sources, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"builders", "conftest", "pipelines", "platforms"} {
		more, err := fs.Glob(sources, "templates/"+sub+"/*.tmpl")
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, path := range files {
		text, err := sources.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, err := t.New(strings.TrimPrefix(path, "templates/")).Parse(string(text)); err != nil {
			return nil, fmt.Errorf("template %s: %w", path, err)
		}
	}
	return t, nil
})
