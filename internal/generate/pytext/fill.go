package pytext

import (
	"strings"
	"unicode/utf8"
)

// Fill writes v as Value does, but with as many elements on a line of some width
// as fit: for long values, behind a mark that keeps ruff from laying them out. A
// collection that does not fit a line begins one of its own, what follows in it
// is indented, and what follows it begins a line again.
func Fill(v any, width, indent, before, after int) string {
	open, closing, parts := brackets(v)
	if line := Inline(v); before+utf8.RuneCountInString(line)+after <= width || len(parts) == 0 {
		return line
	}
	f := filler{width: width, column: before, depth: indent / 4}
	f.put(open)
	f.depth++
	f.line()
	f.parts(parts, len(","))
	f.depth--
	f.put(",")
	f.line()
	f.put(closing)
	return f.String()
}

// filler writes elements, and knows where on the line it is.
type filler struct {
	strings.Builder
	width, column, depth int
}

func (f *filler) put(text string) {
	f.WriteString(text)
	f.column += utf8.RuneCountInString(text)
}

func (f *filler) line() {
	f.WriteString("\n" + strings.Repeat("    ", f.depth))
	f.column = 4 * f.depth
}

// parts writes elements with commas between them; after is the room to be left
// behind the last one.
func (f *filler) parts(parts []part, after int) {
	broken := false
	for i, p := range parts {
		room := len(",")
		if i == len(parts)-1 {
			room = after
		}
		if i > 0 {
			f.put(",")
		}
		if broken {
			f.line()
		}
		broken = f.part(p, i == 0, room)
	}
}

// part writes one element, and reports whether that took more than a line.
func (f *filler) part(p part, first bool, room int) bool {
	text := p.front + Inline(p.value)
	width := utf8.RuneCountInString(text) + room
	switch {
	case f.column == 4*f.depth:
	case !first && f.column+1+width <= f.width:
		f.put(" ")
	case !first, f.column+width > f.width && 4*f.depth+width <= f.width:
		f.line()
	}
	open, closing, inner := brackets(p.value)
	if f.column+width <= f.width || len(inner) == 0 {
		f.put(text)
		return false
	}
	f.put(p.front + open)
	f.depth++
	f.parts(inner, len(",")+len(closing)+room)
	f.depth--
	if t, ok := p.value.(Tuple); ok && len(t) == 1 {
		f.put(",") // else the brackets would only be brackets
	}
	f.put(closing)
	return true
}
