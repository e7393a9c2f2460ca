// Package clean makes text of unknown origin safe to show: the name of a folder,
// a line of a log, an alias in SQL may hold anything, and what a terminal obeys
// or turns around must not reach one. It is a leaf; every printer uses it.
package clean

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// steers reports whether a character moves a cursor, turns a line around, or is
// one that XML cannot hold.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufffe' || r == '\uffff'
}

// Text leaves out a terminal's commands and puts spaces in the place of other
// characters that steer; lines and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && steers(r) {
			return ' '
		}
		return r
	}, ansi.Strip(s))
}

// Line is Text without breaks.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || steers(r) {
			return ' '
		}
		return r
	}, ansi.Strip(s))
}

// WriteJSON writes v as one JSON document and a newline. Nothing is lost: what
// steers is escaped, and the few characters that HTML minds stay as they are.
func WriteJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(JSON(b.Bytes()))
	return err
}

// JSON escapes what steers in a JSON document. Characters below the space are
// escaped by every encoder, and between strings they are the layout.
func JSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, escaped) {
		return doc
	}
	var out bytes.Buffer
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		if escaped(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.Write(doc[:n])
		}
		doc = doc[n:]
	}
	return out.Bytes()
}

func escaped(r rune) bool { return r > ' ' && steers(r) }
