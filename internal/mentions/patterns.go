package mentions

import (
	"slices"
	"strings"
)

// beforeValue are the words of JavaScript after which a value stands: a slash there begins
// a regular expression and divides nothing.
var beforeValue = []string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "instanceof", "do", "else", "yield", "await", "default"}

// pattern reads a regular expression, and reports whether one begins here. It is a sign
// whose value is all of it, so that no quote, bracket or slash in it is taken for the program's.
func (s *scanner) pattern() bool {
	if !s.valueMayStand() {
		return false
	}
	n, class := 1, false
	for ; ; n++ {
		if n >= min(len(s.rest()), maxPattern) || s.rest()[n] == '\n' {
			return false // it has no end on its line, or is none
		}
		switch c := s.rest()[n]; {
		case c == '\\':
			n++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for n++; n < len(s.rest()) && isWord(s.rest()[n]); n++ { // flags
			}
			s.add(sign, s.rest()[:n])
			s.at += n
			return true
		}
	}
}

// valueMayStand reports whether a value may stand after what was read: after a name, a
// value or a bracket that ends one a slash divides, and in a page's tags it ends one.
func (s *scanner) valueMayStand() bool {
	if len(s.out) == 0 {
		return true
	}
	last := s.out[len(s.out)-1]
	switch {
	case last.kind == newline:
		return true
	case last.kind == text:
		return false
	case last.kind == word:
		return slices.Contains(beforeValue, last.value)
	case last.value == ")":
		return s.afterCondition()
	case last.value == "+" || last.value == "-": // i++ / 2
		return len(s.out) < 2 || s.out[len(s.out)-2].kind != sign || s.out[len(s.out)-2].value != last.value
	case last.value == "}":
		return !strings.HasPrefix(s.rest(), "/>")
	}
	return len(last.value) == 1 && last.value != "]" && last.value != "<"
}

// afterCondition reports whether the bracket that was closed last is that of an if or a loop,
// after which a statement begins.
func (s *scanner) afterCondition() bool {
	depth := 0
	for i := len(s.out) - 1; i >= max(1, len(s.out)-maxExpression); i-- {
		switch t := s.out[i]; {
		case closing(t):
			depth++
		case opens(t):
			if depth--; depth == 0 {
				return s.out[i-1].kind == word && slices.Contains([]string{"if", "while", "for", "with"}, s.out[i-1].value)
			}
		}
	}
	return false
}
