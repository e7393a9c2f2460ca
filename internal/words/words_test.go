package words

import (
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var printTo = flag.String("print", "", "write every text that Assay says into this file")

func TestCollect(t *testing.T) {
	t.Parallel()
	got, err := Collect(fstest.MapFS{
		"a.go":                            {Data: []byte("package a\n\nimport \"some/path\"\n\ntype t struct {\n\tF int `json:\"a b c\"`\n}\n\nvar x = \"no file here\" + `two\nlines of it` // a comment here\n")},
		"a_test.go":                       {Data: []byte("package a\n\nvar y = \"not for users\"\n")},
		"testdata/b.go":                   {Data: []byte("package b\n\nvar y = \"not for users\"\n")},
		"p.py":                            {Data: []byte("\"\"\"For developers only.\"\"\"\n# nor this one\nraise E(f\"it's {x} is odd\")\nname = 'word'\n")},
		"docs/page.md":                    {Data: []byte("# One title\n\n`code`\n")},
		"page/index.html":                 {Data: []byte("<p>Some words</p>\n")},
		"page/run.mjs":                    {Data: []byte("throw new Error('went wrong here');\n")},
		"generate/tests/f.tmpl":           {Data: []byte("# What it does\n")},
		"runtimes/python/tests/test_a.py": {Data: []byte("x = 'not for users'\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Text{
		{"a.go", 9, "no file here"}, {"a.go", 9, "two\nlines of it"}, {"docs/page.md", 1, "# One title"},
		{"generate/tests/f.tmpl", 1, "# What it does"}, {"p.py", 3, "it's {x} is odd"}, {"page/index.html", 1, "<p>Some words</p>"},
		{"page/run.mjs", 1, "throw new Error('went wrong here');"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// stilted are phrases that sound translated, and what a native engineer would say.
var stilted = []struct{ phrase, better string }{
	{`longer than nothing`, "must be greater than 0"},
	{`its last words`, "its last output"},
	{`only questions are answered`, "only read-only queries are allowed"},
	{`(?i)\bgiv(?:e|es|en|ing) out\b`, "export"},
	{`(?i)\bbring(?:s|ing)? \w+ home\b|\bbrought home\b`, "import"},
	{`for want of`, "because there is no"},
	{`there or nowhere`, "fail instead of falling back"},
	{`what people have`, "natural inputs"},
	{`fits all of what`, "no model matches"},
	{`\bnought\b`, "zero"},
	{`\b(?:held|holds|hold) (?:it|them|that|this|what [\w ]+)? ?against\b`, "compare with, check against"},
	{`what is to be done about`, "how to fix"},
	{`(?i)left-overs?\b`, "unplaced nodes"},
	{`(?i)\bfilms?\b`, "video"},
	{`(?i)\b(?:a|no|each|in) squares? (?:shows|fails|that|for)\b`, "cell"},
	{`at most so many|\b(?:of|by) so many \w+\b`, "this many"},
	{`(?:^|[^e]|[^r]e|[^e]re) is no (?:file|range|index|object|size|key|journal|message|JSON|number|array|tensor|class|report|browser)\b`, "is not a"},
	{`\bwhich is none\b|\bwhat is none\b`, "which is not valid"},
	{`\bdo(?:es)? not read(?:: |"|$)`, "cannot be parsed"},
	{`\bdo(?:es)? not go (?:together|with)\b`, "cannot be used together"},
	{`\banew\b`, "again"},
	{`\bmend(?:s|ed)?\b`, "fix"},
	{`\bany more(?:[.,;:)]|$)`, "no longer"},
	{`on first need\b`, "when first needed"},
	{`(?:something|anything|nothing) else than\b`, "something different from"},
	{`\banother \w+ than\b|(?:^|[^o] )other \w+ than\b`, "different from, other than"},
	{`\bcannot be had\b|\bis to be had\b|\bnot to be had\b`, "is not available"},
	{`\b(?:write|writes|written) over (?:it|them|files|what)\b|never written over`, "overwrite"},
	{`\bas it is: (?:--|name|move)`, "unchanged"},
	{`\b(?:asked|an asked) (?:cells?|platform|device|dtype|hardware)\b`, "requested"},
	{`\b(?:line|file|module|child|thread) a (?:result|model|command|job|core|cell)\b`, "per"},
	{`\breads? astray\b`, "makes a bad access"},
}

func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	texts, err := Collect(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 1000 {
		t.Fatalf("only %d texts were found", len(texts))
	}
	var b strings.Builder
	for _, x := range texts {
		fmt.Fprintf(&b, "%s:%d: %q\n", x.File, x.Line, x.Says)
	}
	if *printTo != "" {
		if err := os.WriteFile(*printTo, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := slices.Concat(texts, wrapped(texts))
	for _, s := range stilted {
		re := regexp.MustCompile(s.phrase)
		for _, x := range lines {
			if m := re.FindString(x.Says); m != "" {
				t.Errorf("%s:%d says %q: %s", x.File, x.Line, m, s.better)
			}
		}
	}
}

// wrapped are the places where a line of prose goes on in the next: its last
// words with the first ones there.
func wrapped(texts []Text) []Text {
	var out []Text
	for i, x := range texts[:len(texts)-1] {
		next := texts[i+1]
		if path.Ext(x.File) != ".md" || next.File != x.File || next.Line != x.Line+1 {
			continue
		}
		last, first := strings.Fields(x.Says), strings.Fields(next.Says)
		says := append(slices.Clone(last[max(0, len(last)-3):]), first[:min(3, len(first))]...)
		out = append(out, Text{x.File, x.Line, strings.Join(says, " ")})
	}
	return out
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	got := wrapped([]Text{
		{"a.md", 1, "what it gives is held"}, {"a.md", 2, "against the reference"}, {"a.md", 4, "after a gap"}, {"b.go", 5, "no prose"}, {"b.go", 6, "no prose"},
	})
	if diff := cmp.Diff([]Text{{"a.md", 1, "gives is held against the reference"}}, got); diff != "" {
		t.Error(diff)
	}
}
