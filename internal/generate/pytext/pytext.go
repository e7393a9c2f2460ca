// Package pytext writes values as Python, formatted as ruff formats them: on one
// line where they fit, otherwise one element per line with a comma after the last.
//
// Values come from recipes, which are JSON. Their order is the author's and is
// kept: a Dict is a list of pairs. What is not a value but a piece of code (a name,
// a call) is a Code.
package pytext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Width is the longest line that ruff writes by default.
const Width = 88

// Code is written as it is.
type Code string

// Dict is a dictionary in the order of its pairs.
type Dict []Pair

// Pair is a key of a dictionary and its value.
type Pair struct {
	Key   string
	Value any
}

// Tuple is written in round brackets.
type Tuple []any

// Call is a call of something with arguments.
type Call struct {
	Of   string
	Args []Argument
}

// Argument is one argument of a call; Name is "" for one given by its place.
type Argument struct {
	Name  string
	Value any
}

// Parse reads JSON and keeps the order of keys: objects become a Dict, arrays a
// []any, numbers stay as they were written.
func Parse(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return parse(d)
}

func parse(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("read JSON value: %w", err)
	}
	delim, ok := t.(json.Delim)
	switch {
	case !ok:
		return t, nil
	case delim == '{':
		return parseDict(d)
	}
	list := []any{}
	for d.More() {
		v, err := parse(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err = d.Token()
	return list, err
}

func parseDict(d *json.Decoder) (any, error) {
	dict := Dict{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read JSON key: %w", err)
		}
		v, err := parse(d)
		if err != nil {
			return nil, err
		}
		dict = append(dict, Pair{fmt.Sprint(key), v})
	}
	_, err := d.Token()
	return dict, err
}

// Value writes v where a line is indented by indent, has before characters of
// its own in front of the value, and after behind it.
func Value(v any, indent, before, after int) string {
	line := Inline(v)
	if before+utf8.RuneCountInString(line)+after <= Width && !strings.Contains(line, "\n") {
		return line
	}
	open, closing, parts := brackets(v)
	if len(parts) == 0 {
		return line
	}
	pad := strings.Repeat(" ", indent)
	if _, ok := v.(Call); ok {
		inner := pad + "    " + strings.TrimSuffix(strings.TrimPrefix(line, open), closing)
		if utf8.RuneCountInString(inner) <= Width {
			return open + "\n" + inner + "\n" + pad + closing
		}
	}
	var b strings.Builder
	b.WriteString(open + "\n")
	for _, p := range parts {
		front := len(pad) + 4 + utf8.RuneCountInString(p.front)
		b.WriteString(pad + "    " + p.front + Value(p.value, indent+4, front, 1) + ",\n")
	}
	b.WriteString(pad + closing)
	return b.String()
}

// part is an element with what stands before it: the key of a pair.
type part struct {
	front string
	value any
}

// brackets returns what surrounds a collection, and its elements; none for what
// cannot be broken.
func brackets(v any) (open, closing string, parts []part) {
	switch v := v.(type) {
	case Dict:
		for _, p := range v {
			parts = append(parts, part{Quote(p.Key) + ": ", p.Value})
		}
		return "{", "}", parts
	case []any:
		return "[", "]", elements(v)
	case Tuple:
		return "(", ")", elements(v)
	case Call:
		for _, a := range v.Args {
			parts = append(parts, part{a.front(), a.Value})
		}
		return v.Of + "(", ")", parts
	}
	return "", "", nil
}

func (a Argument) front() string {
	if a.Name == "" {
		return ""
	}
	return a.Name + "="
}

func elements(values []any) []part {
	parts := make([]part, len(values))
	for i, v := range values {
		parts[i].value = v
	}
	return parts
}

// Inline writes v on one line, however long.
func Inline(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return Quote(v)
	case Code:
		return string(v)
	case json.Number:
		return number(v.String())
	case Tuple:
		if len(v) == 1 {
			return "(" + Inline(v[0]) + ",)"
		}
	}
	open, closing, parts := brackets(v)
	if open == "" {
		return fmt.Sprint(v)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.front + Inline(p.value)
	}
	return open + strings.Join(texts, ", ") + closing
}

// number writes a JSON number as ruff writes it: its exponent in lower case.
func number(s string) string { return strings.ToLower(s) }

// Quote writes a string in the quotes that ruff prefers: double ones, unless
// single ones need fewer escapes.
func Quote(s string) string {
	quote := `"`
	if strings.Count(s, `"`) > strings.Count(s, `'`) {
		quote = `'`
	}
	var b strings.Builder
	b.WriteString(quote)
	for _, r := range s {
		switch {
		case string(r) == quote || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(quote)
	return b.String()
}
