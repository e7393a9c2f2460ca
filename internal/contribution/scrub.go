package contribution

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/internal/clean"
)

// Scrubber takes out of texts what tells a machine, a person or a folder.
type Scrubber struct {
	names []*regexp.Regexp
}

// general are names that tell nobody.
var general = []string{"root", "user", "localhost", "linux", "runner", "ubuntu", "admin", "home", "name", "torch", "cpu", "cuda"}

// NewScrubber knows the names of this machine and its user, besides the form of
// paths and addresses.
func NewScrubber(names ...string) Scrubber {
	var s Scrubber
	for _, n := range names {
		for _, part := range append([]string{n}, strings.FieldsFunc(n, func(r rune) bool { return strings.ContainsRune(`./\@ `, r) })...) {
			if len(part) >= 3 && !slices.Contains(general, strings.ToLower(part)) {
				s.names = append(s.names, regexp.MustCompile(`(?i)(^|[^\pL\pN])`+regexp.QuoteMeta(part)+`($|[^\pL\pN])`))
			}
		}
	}
	return s
}

// forms are what is taken out, and the word in its place. What may have spaces in it is
// taken to the end of the line, or of the quotes.
var forms = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>]*`), "(address)"},
	{regexp.MustCompile(`\\\\[^"'<>|\n]+`), "(path)"},             // \\server\share
	{regexp.MustCompile(`\b[A-Za-z]:[\\/][^"'<>|\n]*`), "(path)"}, // C:\…
	{regexp.MustCompile(`["'][^"'\n]*[/\\][^"'\n]*["']`), "(path)"},
	{regexp.MustCompile(`[^\s"'(),;:=\[\]{}<>]*/` + libraries), "(path)"},                             // before the next one: what fails is told
	{regexp.MustCompile(`[^\s"'(),;:=\[\]{}<>]*/(?:[^\s"'(),;:=\[\]{}<>/]+/)+[^"'<>|\n]*`), "(path)"}, // /home/a b/c d
	{regexp.MustCompile(`\b(?:hf_|sk-|ghp_|github_pat_|glpat-|xox[bp]-)[\w-]{8,}`), "(secret)"},
	{regexp.MustCompile(`(?i)\b(?:[a-z0-9-]+\.)+(?:local|internal|lan|corp|home|cluster|intranet|localdomain)\b(?::\d+)?`), "(address)"},
	{regexp.MustCompile(`(?i)\bhost(?:name)?\s?[=:]\s?[\w.-]+`), "(name)"},
	{regexp.MustCompile(`[\w.+-]+@[\w.-]*\w`), "(address)"},
	{regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:\d+)?\b`), "(address)"},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}`), "(address)"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "(id)"},
	{regexp.MustCompile(`~[\w.-]*[/\\][^\s"',;)]*`), "(path)"},
	{regexp.MustCompile(`[^\s"'(),;:=\[\]{}<>]*[/\\][^\s"',;)\]}>]*`), "(path)"}, // /a/b, a/b, ./a, ..\a
}

// ratio is a slash between numbers or dtypes, which is no path's.
var ratio = regexp.MustCompile(`^\(?\d+(\.\d+)?/\d+(\.\d+)?[.,;)]*$`)

// library is a file of a library, whose name tells where a model failed.
var library = regexp.MustCompile(`^` + libraries + `$`)

const libraries = `(?:modeling|modular|configuration|image_processing|processing|masking|activations|cache)_?\w*\.py(?::\d+)?`

// Line is a text on one line, without what tells a machine, a person or a folder.
// Done twice it changes nothing.
func (s Scrubber) Line(text string) string {
	text = strings.Join(strings.Fields(clean.Line(text)), " ")
	for range 8 { // what one form leaves may be another's
		before := text
		for _, f := range forms {
			text = f.form.ReplaceAllStringFunc(text, func(found string) string { return standIn(found, f.as) })
		}
		for _, n := range s.names {
			text = n.ReplaceAllString(text, "${1}(name)${2}")
		}
		if text == before {
			break
		}
	}
	return text
}

func standIn(found, as string) string {
	if ratio.MatchString(found) || found == "n/a" {
		return found
	}
	last := found[strings.LastIndexAny(found, `/\`)+1:]
	if as == "(path)" && library.MatchString(last) {
		return last
	}
	return as
}

// cleared says where a document still has something to take out.
func cleared(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	var wrong []string
	walk(v, "", func(at, s string) {
		// Targets have a slash before their engine; check looks at those.
		if strings.HasSuffix(at, ".target") {
			return
		}
		if (Scrubber{}).Line(s) != s {
			wrong = append(wrong, fmt.Sprintf("%s has a path, an address or a line break in it: %.80q", strings.TrimPrefix(at, "."), s))
		}
	})
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// walk visits every text of a document, names of fields too.
func walk(v any, at string, visit func(at, s string)) {
	switch v := v.(type) {
	case string:
		visit(at, v)
	case []any:
		for i, x := range v {
			walk(x, fmt.Sprintf("%s.%d", at, i), visit)
		}
	case map[string]any:
		for k, x := range v {
			visit(at+".names", k)
			walk(x, at+"."+k, visit)
		}
	}
}
