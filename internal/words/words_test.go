package words

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var printTo = flag.String("print", "", "write every text that Assay says into this file")

func TestCollect(t *testing.T) {
	t.Parallel()
	got, err := Collect(fstest.MapFS{
		"a.go":            {Data: []byte("package a\n\nimport \"some/path\"\n\ntype t struct {\n\tF int `json:\"a b c\"`\n}\n\nvar x = \"no file here\" + `two\nlines of it` // a comment here\n")},
		"a_test.go":       {Data: []byte("package a\n\nvar y = \"not for users\"\n")},
		"testdata/b.go":   {Data: []byte("package b\n\nvar y = \"not for users\"\n")},
		"p.py":            {Data: []byte("\"\"\"For developers only.\"\"\"\n# nor this one\nraise E(f\"it's {x} is odd\")\nname = 'word'\n")},
		"docs/page.md":    {Data: []byte("# One title\n\n`code`\n")},
		"page/index.html": {Data: []byte("<p>Some words</p>\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Text{
		{"a.go", 9, "no file here"}, {"a.go", 9, "two\nlines of it"}, {"docs/page.md", 1, "# One title"},
		{"p.py", 3, "it's {x} is odd"}, {"page/index.html", 1, "<p>Some words</p>"},
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
	{`\bheld against\b`, "compared with, checked against"},
	{`what is to be done about`, "how to fix"},
	{`left-overs`, "unplaced nodes"},
	{`(?i)\b(?:a|no|each|in) squares? (?:shows|fails|that|for)\b`, "cell"},
	{`at most so many`, "at most this many"},
	{`(?:^|[^e]|[^r]e|[^e]re) is no (?:file|range|index|object|size|key|journal|message|JSON|number|array|tensor|class|report|browser)\b`, "is not a"},
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
	for _, s := range stilted {
		re := regexp.MustCompile(s.phrase)
		for _, x := range texts {
			if m := re.FindString(x.Says); m != "" {
				t.Errorf("%s:%d says %q: %s", x.File, x.Line, m, s.better)
			}
		}
	}
}
