package pytext

import (
	"strings"
	"unicode/utf8"
)

// Fill writes v as Value does, but with as many elements on a line as fit: for
// long values, behind a mark that keeps ruff from laying them out. A collection that does not fit a line
// begins one of its own, and what follows in it is indented.
func Fill(v any, indent, before, after int) string {
	f := filler{column: before, depth: indent / 4}
	if open, closing, parts := brackets(v); before+utf8.RuneCountInString(Inline(v))+after > Width && len(parts) > 0 {
		f.put(open)
		f.depth++
		f.line()
		f.parts(parts)
		f.put(",")
		f.depth--
		f.line()
		f.put(closing)
		return f.String()
	}
	return Inline(v)
}

// filler writes elements, and knows where on the line it is.
type filler struct {
	strings.Builder
	column, depth int
}

func (f *filler) put(text string) {
	f.WriteString(text)
	f.column += utf8.RuneCountInString(text)
}

func (f *filler) line() {
	f.WriteString("\n" + strings.Repeat("    ", f.depth))
	f.column = 4 * f.depth
}

// parts writes elements with a comma between them.
func (f *filler) parts(parts []part) {
	for i, p := range parts {
		if i > 0 {
			f.put(",")
		}
		f.part(p, i == 0)
	}
}

func (f *filler) part(p part, first bool) {
	text := p.front + Inline(p.value)
	width := utf8.RuneCountInString(text) + len(",")
	switch {
	case f.column == 4*f.depth:
	case !first && f.column+1+width <= Width:
		f.put(" ")
	case !first, f.column+width > Width && 4*f.depth+width <= Width:
		f.line()
	}
	open, closing, inner := brackets(p.value)
	if f.column+width <= Width || len(inner) == 0 {
		f.put(text)
		return
	}
	f.put(p.front + open)
	f.depth++
	f.parts(inner)
	f.depth--
	f.put(closing)
}
