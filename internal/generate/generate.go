// Package generate is the frame of everything that Assay writes for others to
// keep: tests (generate/tests) and skills (generate/skills).
//
// A generated file is a name and a text. Its text is a function of the model's
// recipe, the platforms and the templates, and of nothing else: no time, no
// path, no machine. One line of it, the stamp, says what wrote it and holds a
// digest of the rest, so that an edited file can be told from one
// that only a newer template would write differently. Text between the
// marked lines belongs to whoever keeps the file: it is not part of the digest
// and survives writing again.
//
// Plan compares files with a folder and changes nothing; Changes.Write makes the
// changes. Data goes one way: recipe → template → File → Change → disk.
package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// File is one file to be written.
type File struct {
	Name string // in the folder
	Text string
}

// Stamp is what a generated file says about its origin.
type Stamp struct {
	Kind      string   // test, skill, conftest
	Model     string   // "" for a file that serves all models
	Versions  string   // of the libraries that the recipe was made with
	Template  int      // version of the templates
	Platforms []string // that the file knows
}

// Conftest is the name of the file that the tests of a folder share.
const Conftest = "conftest.py"

// The lines between which a file belongs to its keeper. A template has them
// behind its language's sign for a comment.
const (
	KeepFrom = "assay: keep"
	KeepTo   = "assay: end"
)

// unsealed stands in a template's output where the digest goes.
const unsealed = "sha256:000000000000"

// String is the stamp as one line, to be put behind a comment sign.
func (s Stamp) String() string {
	parts := []string{"assay: " + strings.TrimSpace(s.Kind+" "+s.Model)}
	if s.Versions != "" {
		parts = append(parts, s.Versions)
	}
	parts = append(parts, fmt.Sprintf("template %d", s.Template))
	if len(s.Platforms) > 0 {
		parts = append(parts, "platforms "+strings.Join(s.Platforms, ","))
	}
	return strings.Join(append(parts, unsealed), " | ")
}

var (
	stampLine = regexp.MustCompile(`(?m)^\S+ assay: (test|skill|conftest)(?: (\S+))? \| .*\| (sha256:[0-9a-f]{12})`)
	platforms = regexp.MustCompile(`\| platforms (\S+) \|`)
	sealed    = regexp.MustCompile(`sha256:[0-9a-f]{12}`)
	marks     = regexp.MustCompile(`(?m)^\S+ assay: (keep|end)\b`)
	kept      = regexp.MustCompile(`(?ms)^(\S+ ` + KeepFrom + `[^\n]*\n)(.*?)(^\S+ ` + KeepTo + `$)`)
)

// Seal puts the digest of a text into its stamp.
func Seal(text string) string {
	return strings.Replace(text, unsealed, "sha256:"+digest(text), 1)
}

// digest is over the text without its digest and without what its keeper wrote.
func digest(text string) string {
	text = kept.ReplaceAllString(text, "$1$3")
	loc := sealed.FindStringIndex(text)
	if loc != nil {
		text = text[:loc[0]] + unsealed + text[loc[1]:]
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}

// Origin is what a text's stamp says; false for a text that was not generated.
func Origin(text string) (s Stamp, edited, ok bool) {
	m := stampLine.FindStringSubmatch(text)
	if m == nil {
		return Stamp{}, false, false
	}
	s = Stamp{Kind: m[1], Model: m[2]}
	if p := platforms.FindStringSubmatch(m[0]); p != nil {
		s.Platforms = strings.Split(p[1], ",")
	}
	return s, m[3] != "sha256:"+digest(text), true
}

// Torn reports whether the marked lines of an old text are not those of the new
// one: what its keeper wrote would have no place there.
func Torn(text, old string) bool {
	return len(marks.FindAllString(old, -1)) != len(marks.FindAllString(text, -1)) ||
		len(kept.FindAllString(old, -1)) != len(kept.FindAllString(text, -1))
}

// Keep gives a new text what the old one's keeper wrote between the marked
// lines, region by region.
func Keep(text, old string) string {
	regions := kept.FindAllStringSubmatch(old, -1)
	i := -1
	return kept.ReplaceAllStringFunc(text, func(region string) string {
		i++
		if i >= len(regions) {
			return region
		}
		m := kept.FindStringSubmatch(region)
		return m[1] + regions[i][2] + m[3]
	})
}
