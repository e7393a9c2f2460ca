package skills

import (
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/platform"
)

// Trial is what a skill's test in a browser needs.
type Trial struct {
	Module   string // the test, an ES module
	Artefact string // the folder of the graph, as `assay export --format web` names it
	Seq      int    // the length of its texts; 0 is the recipe's own
	// Platforms are those of browsers that the skill knows.
	Platforms []platform.Name
}

// TrialOf is the trial of a model's skill; one without a module where no page
// runs it.
func TrialOf(c *catalog.Catalog, chosen catalog.Choice, on []platform.Name) (Trial, error) {
	s, err := plan(c, chosen, on)
	if err != nil || !s.inPages() {
		return Trial{}, err
	}
	inPages := slices.DeleteFunc(slices.Clone(s.on), func(n platform.Name) bool { return places[n].piece != "browser" })
	return Trial{WebTest(s.Type), s.Artefact(), s.Room, inPages}, nil
}

// webTest is the composition of the test of the ES module.
func (s skill) webTest() []part {
	parts := []part{{"web test"}}
	if s.Has(image) || s.Has(video) {
		parts = append(parts, part{"web turned"})
	}
	other := "web other"
	if !s.Naturals() {
		other = "web other named"
	}
	return append(parts, part{other}, part{"web assert"}, part{"web near"}, part{"web tests"}, part{"web test run"})
}

// WebOther is the expression of an input other than the example.
func (s skill) WebOther() string {
	if len(s.natural) == 1 {
		return filled(webNaturals[s.natural[0]].other, "example()")
	}
	var fields []string
	for _, n := range s.natural {
		fields = append(fields, n+": "+filled(webNaturals[n].other, "example()."+n))
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// WebDiffers reports whether another input has another answer.
func (s skill) WebDiffers() bool { return s.Differ() != "" }

// WebScores reports whether an answer names things, which change places when
// they are as likely.
func (s skill) WebScores() bool {
	return slices.Contains([]string{"words", "labels", "tokens", "boxes", "span", "documents"}, s.Kind())
}
