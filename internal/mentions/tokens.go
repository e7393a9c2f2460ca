package mentions

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	word kind = iota
	text
	sign
	newline
)

// token is a piece of source: a word, a text without its quotes, a sign, or the end
// of a statement.
type token struct {
	kind    kind
	value   string
	line    int
	formed  bool // a text with parts in braces
	nothing bool // a text whose value is not told by what stands there
}

// language is what differs between Python and JavaScript.
type language struct {
	comment    string
	block      bool   // /* … */
	patterns   bool   // /…/ where a value may stand
	triple     bool   // """…"""
	quotes     string // that begin a text
	terminator bool   // a line's end ends a statement outside of brackets
	standards  *standards
}

var (
	pythonLanguage = language{comment: "#", triple: true, quotes: `"'`, terminator: true, standards: &pythonStandards}
	scriptLanguage = language{comment: "//", block: true, patterns: true, quotes: "\"'`", terminator: true, standards: &scriptStandards}
)

// scanner cuts source into tokens. It takes anything: what it does not understand
// is a sign.
type scanner struct {
	language
	source string
	at     int
	line   int
	depth  int
	out    []token
	later  []token // programs inside of texts, after what they stand in
	nested int
}

// tokens cuts source that begins on a line.
func tokens(source string, l language, line int) []token {
	s := &scanner{language: l, source: source, line: line}
	for s.at < len(s.source) && len(s.out) < maxTokens {
		s.next()
	}
	s.add(newline, "\n")
	return append(s.out, s.later...)
}

func (s *scanner) add(k kind, value string) {
	s.out = append(s.out, token{kind: k, value: value, line: s.line})
}

func (s *scanner) rest() string { return s.source[s.at:] }

func (s *scanner) next() {
	c := s.source[s.at]
	switch {
	case c == '\n':
		if s.depth == 0 && s.terminator {
			s.add(newline, "\n")
		}
		s.line++
		s.at++
	case c == ' ' || c == '\t' || c == '\r' || c == '\\':
		if c == '\\' && strings.HasPrefix(s.rest(), "\\\n") {
			s.at++
			s.line++
		}
		s.at++
	case strings.HasPrefix(s.rest(), s.comment):
		s.skip("\n", 0)
	case s.block && strings.HasPrefix(s.rest(), "/*"):
		s.skip("*/", 2)
	case strings.IndexByte(s.quotes, c) >= 0:
		s.text("")
	case c == '/' && s.patterns && s.pattern():
	case isWord(c):
		s.word()
	default:
		s.sign(c)
	}
}

// skip goes to what ends a comment, and past it.
func (s *scanner) skip(end string, past int) {
	n := strings.Index(s.rest(), end)
	if n < 0 {
		n, past = len(s.rest()), 0
	}
	s.line += strings.Count(s.rest()[:n], "\n")
	s.at += n + past
}

func isWord(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

func (s *scanner) word() {
	n := 0
	for n < len(s.rest()) && isWord(s.rest()[n]) {
		n++
	}
	w := s.rest()[:n]
	if after := s.at + n; s.triple && after < len(s.source) && strings.IndexByte(s.quotes, s.source[after]) >= 0 && len(w) <= 2 && strings.Trim(strings.ToLower(w), "rbuf") == "" {
		s.at = after
		s.text(strings.ToLower(w))
		return
	}
	s.add(word, w)
	s.at += n
}

func (s *scanner) sign(c byte) {
	switch c {
	case '(', '[', '{':
		s.depth++
	case ')', ']', '}':
		s.depth = max(0, s.depth-1)
	case ';':
		s.add(newline, ";")
		s.at++
		return
	}
	s.add(sign, string(c))
	s.at++
}

// text reads a quoted one, whose prefix was read already.
func (s *scanner) text(prefix string) {
	quote := s.rest()[:1]
	if s.triple && strings.HasPrefix(s.rest(), strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	t := token{kind: text, line: s.line}
	s.at += len(quote)
	start := s.at
	for s.at < len(s.source) && !strings.HasPrefix(s.rest(), quote) {
		switch s.source[s.at] {
		case '\\':
			t.nothing = t.nothing || !strings.Contains(prefix, "r")
			s.at++
			if s.at < len(s.source) && s.source[s.at] == '\n' {
				s.line++
			}
		case '$':
			if quote == "`" && s.nested < maxNested && strings.HasPrefix(s.rest(), "${") {
				s.program()
				continue
			}
		case '\n':
			if len(quote) == 1 && quote != "`" {
				t.value, t.nothing = s.source[start:s.at], true // it has no end
				s.out = append(s.out, t)
				return
			}
			s.line++
		}
		s.at++
	}
	t.value = s.source[start:min(s.at, len(s.source))]
	t.nothing = t.nothing || s.at >= len(s.source) // it has no end
	s.at = min(s.at+len(quote), len(s.source))
	t.formed = (strings.Contains(prefix, "f") || quote == "`") && strings.Contains(t.value, "{")
	t.nothing = t.nothing || strings.Contains(prefix, "b")
	s.out = append(s.out, t)
}

// program reads what stands in a text between ${ and }.
func (s *scanner) program() {
	out, depth := s.out, s.depth
	s.out, s.depth = nil, 1
	s.at += len("${")
	s.nested++
	for s.at < len(s.source) && s.depth > 0 && len(s.out) < maxTokens {
		s.next()
	}
	s.nested--
	s.add(newline, "\n")
	s.later = append(s.later, s.out...)
	s.out, s.depth = out, depth
}
