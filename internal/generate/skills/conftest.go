package skills

import (
	"bytes"
	"fmt"
	"slices"

	"assay/internal/generate"
	"assay/internal/platform"
)

// conftest is what the file that the tests of skills share is filled with.
type conftest struct {
	Stamp generate.Stamp
	// Platforms are those that run in Python; pages have tests of their own.
	Platforms []string
}

// Conftest is the file that the tests of skills share: their options. Its text
// is the same for all skills.
func Conftest() (generate.File, error) {
	t, err := templates()
	if err != nil {
		return generate.File{}, err
	}
	inPython := slices.DeleteFunc(platform.Names(), func(n platform.Name) bool { return places[n].piece == "browser" })
	var b bytes.Buffer
	of := conftest{generate.Stamp{Kind: "conftest", Template: Template}, names(inPython)}
	if err := t.ExecuteTemplate(&b, "conftest", of); err != nil {
		return generate.File{}, fmt.Errorf("write %s: %w", generate.Conftest, err)
	}
	return generate.File{Name: generate.Conftest, Text: generate.Seal(string(bytes.TrimLeft(b.Bytes(), "\n")))}, nil
}
