//go:build cgo

package store

import "strings"

// coltype is a column's DuckDB type, taken apart as far as printing needs: a
// date inside a list comes as the same Go value as an instant does.
type coltype struct {
	name   string // without parameters: DECIMAL, LIST, MAP, STRUCT, …
	elem   *coltype
	key    *coltype
	fields map[string]coltype
}

// parseType reads a type's name as DuckDB spells it, such as DATE[],
// MAP(VARCHAR, DOUBLE) or STRUCT("a" INTEGER, "b" DATE[]). What it does not
// know is a plain name.
func parseType(s string) coltype {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, "]") {
		if i := strings.LastIndexByte(s, '['); i >= 0 {
			elem := parseType(s[:i])
			return coltype{name: "LIST", elem: &elem}
		}
	}
	name, inside, ok := strings.Cut(s, "(")
	if !ok || !strings.HasSuffix(inside, ")") {
		return coltype{name: s}
	}
	t := coltype{name: strings.TrimSpace(name)}
	t.addParts(split(inside[:len(inside)-1]))
	return t
}

func (t *coltype) addParts(parts []string) {
	switch {
	case t.name == "MAP" && len(parts) == 2:
		key, elem := parseType(parts[0]), parseType(parts[1])
		t.key, t.elem = &key, &elem
	case t.name == "STRUCT":
		t.fields = map[string]coltype{}
		for _, p := range parts {
			name, rest := fieldName(p)
			t.fields[name] = parseType(rest)
		}
	}
}

// split cuts at the commas that are in no parentheses and no quotes.
func split(s string) []string {
	var parts []string
	depth, quoted, start := 0, false, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[start:]))
}

// fieldName cuts `"a b" INTEGER` into its name and its type.
func fieldName(s string) (name, rest string) {
	if !strings.HasPrefix(s, `"`) {
		name, rest, _ = strings.Cut(s, " ")
		return name, rest
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(s[1:i], `""`, `"`), s[i+1:]
	}
	return s, ""
}
