package tests

import (
	"slices"
	"strings"

	"assay/internal/generate"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// conftest is what the shared file is written from: the parts that its
// platforms need.
type conftest struct {
	Stamp  generate.Stamp
	Places []place
	parts  []string
	kinds  []string // engines that have a class
}

// Has reports whether a part is in the file.
func (c conftest) Has(part string) bool { return slices.Contains(c.parts, part) }

// Engines is the table from an engine's name to its class.
func (c conftest) Engines() string {
	table := pytext.Dict{}
	for _, k := range c.kinds {
		table = append(table, pytext.Pair{Key: k, Value: pytext.Code(classes[k])})
	}
	return pytext.Value(table, 0, len("ENGINES = "), 0)
}

// Parts are the texts of the parts, in the order in which they stand.
func (c conftest) Parts() []string { return c.parts }

var classes = map[string]string{"torch": "Torch", "openvino": "OpenVINO", "qnn": "QNN"}

// parts of the shared file: the engines that need each; none is for all.
var shared = []struct {
	name string
	need []string
}{
	{"base", nil},
	{"assay", []string{"openvino", "qnn", "browser"}},
	{"subject", []string{"torch", "openvino", "qnn"}},
	{"torch", []string{"torch"}},
	{"pipelines", []string{"torch"}},
	{"artefact", []string{"openvino", "qnn"}},
	{"openvino", []string{"openvino"}},
	{"qnn", []string{"qnn"}},
	{"engines", []string{"torch", "openvino", "qnn"}},
	{"browser", []string{"browser"}},
	{"saving", nil},
}

// Conftest is the file that tests on these platforms share.
func Conftest(on []platform.Name) (generate.File, error) {
	c := conftest{Stamp: generate.Stamp{Kind: "conftest", Template: Template}}
	engines := map[string]bool{}
	c.Places = inOrder("", on)
	for _, p := range c.Places {
		c.Stamp.Platforms = append(c.Stamp.Platforms, string(p.Name))
		engines[p.engine()] = true
	}
	for _, s := range shared {
		if s.need == nil || slices.ContainsFunc(s.need, func(e string) bool { return engines[e] }) {
			c.parts = append(c.parts, s.name)
		}
	}
	for _, k := range []string{"torch", "openvino", "qnn"} {
		if engines[k] {
			c.kinds = append(c.kinds, k)
		}
	}
	slices.Sort(c.Stamp.Platforms)
	text, err := render("conftest/whole.tmpl", c)
	if err != nil {
		return generate.File{}, err
	}
	return generate.File{Name: generate.Conftest, Text: generate.Seal(text)}, nil
}

// engine is the class of tests that a platform's are.
func (p place) engine() string {
	if p.inBrowser() {
		return "browser"
	}
	return strings.ToLower(string(p.Engines[0]))
}

// KeepsArtefacts reports whether tests on a platform run what assay exports.
func KeepsArtefacts(n platform.Name) bool {
	p, ok := platform.Get(n)
	return ok && slices.Contains([]string{"openvino", "qnn"}, place{Platform: p}.engine())
}

// DType is the dtype that tests on a platform run in unless another is asked for.
func DType(n platform.Name) string {
	p, ok := platform.Get(n)
	if !ok {
		return ""
	}
	return string(p.DTypes[0])
}
