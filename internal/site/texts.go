package site

import (
	"bytes"
	_ "embed" // the method
	"strings"

	"assay/docs"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

//go:embed method.md
var methodText string

var findingsText = docs.Findings

// text is a page that was written in Markdown.
type text struct {
	Title string `json:"title"`
	HTML  string `json:"html"`
}

// textOf turns Markdown into HTML. Markup inside it is left out, and links to
// other files of the repository become plain text: a site has no such files.
func textOf(title, markdown string) (text, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	var b bytes.Buffer
	if err := md.Convert([]byte(unlinked(markdown)), &b); err != nil {
		return text{}, err
	}
	return text{title, b.String()}, nil
}

// unlinked takes the links to other pages of the folder out, and keeps those to
// parts of the same page and to the web.
func unlinked(markdown string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(markdown, "](")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		target, after, closed := strings.Cut(rest, ")")
		open := strings.LastIndex(before, "[")
		if closed && open >= 0 && !strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "http") {
			kept := b.String()
			b.Reset()
			b.WriteString(kept[:len(kept)-len(before)+open] + before[open+1:])
			markdown = after
			continue
		}
		b.WriteString("](")
		markdown = rest
	}
}
