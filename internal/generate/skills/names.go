package skills

import (
	"strings"

	"assay/internal/catalog"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// Stem is the name of a type's files, without what tells them apart.
func Stem(modelType string) string { return "skill_hf_" + pytext.Identifier(modelType) }

// Test is the name of the file with a type's test.
func Test(modelType string) string { return "test_" + Stem(modelType) + ".py" }

// WebTest is the name of the ES module with a type's test for browsers.
func WebTest(modelType string) string { return "test_" + Stem(modelType) + ".mjs" }

// Platforms are those of the asked ones that a model's skill knows: all, but
// for models that only torch runs.
func Platforms(c *catalog.Catalog, chosen catalog.Choice, on []platform.Name) []platform.Name {
	s, err := plan(c, chosen, on)
	if err != nil {
		return on
	}
	return s.on
}

// camel is a type as the name of a class.
func camel(modelType string) string {
	var b strings.Builder
	for _, w := range strings.Split(pytext.Identifier(modelType), "_") {
		if w != "" {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}
