package skills

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// WebMade are the graph's inputs, each with its expression.
func (s skill) WebMade() []made {
	var out []made
	for _, in := range s.reads {
		if in.Name != "decoder_input_ids" || !s.generates {
			out = append(out, made{in.Name, in.script(len(s.natural) > 1)})
		}
	}
	for _, in := range s.inputs {
		if !s.Naturals() {
			out = append(out, made{in.Name, in.drawnScript()})
		}
	}
	return out
}

// Counts reports whether the numbers of a shape are counted: not where all
// inputs are ids.
func (s skill) Counts() bool {
	others := func(m made) bool { return !strings.HasPrefix(m.Made, "ids(") }
	return s.Grows == "decoder_input_ids" || slices.ContainsFunc(s.WebMade(), others)
}

// Fills reports whether some input has one number all over.
func (s skill) Fills() bool {
	filled := func(m made) bool { return strings.Contains(m.Made, "filled(") }
	return s.Grows == "decoder_input_ids" || slices.ContainsFunc(s.WebMade(), filled)
}

// script is the expression in JavaScript that makes an input of x; "" where
// there is none.
func (in read) script(several bool) string {
	of := "x"
	if several {
		of = "x." + in.source
	}
	switch {
	case in.source == "":
		return in.fixedScript()
	case in.Grid > 0:
		return ""
	case in.piece == "ids" && len(in.places) > 0:
		return fmt.Sprintf("ids(%s, %d, %s)", of, in.sides[1], script(in.places))
	case in.piece == "ids":
		return fmt.Sprintf("ids(%s, %d)", of, in.sides[1])
	}
	return fmt.Sprintf("await %s(%s, %s)", in.piece, of, script(in.sides))
}

// fixedScript is an input that is the same whatever is asked; "" where the
// module cannot make it.
func (in shaped) fixedScript() string {
	switch {
	case in.Name == "bbox":
		return ""
	case in.Kind == "ones":
		return fmt.Sprintf("filled(%s, 1)", script(in.sides))
	case in.Kind == "zeros", constant(in) && len(in.places) == 0:
		return fmt.Sprintf("filled(%s, %d)", script(in.sides), in.Low)
	case in.Name == "decoder_input_ids":
		return fmt.Sprintf("filled(%s, %d)", script(in.sides), in.Low)
	case in.Kind == "value":
		dims, flat := flattened(in.Value)
		return fmt.Sprintf("{ dims: %s, data: %s }", script(dims), flat)
	}
	return ""
}

// drawnScript is an input that is drawn.
func (in shaped) drawnScript() string {
	if made := in.fixedScript(); made != "" && in.Name != "decoder_input_ids" {
		return made
	}
	if in.Kind == "ids" {
		return fmt.Sprintf("drawn(%s, %d, %d, true)", script(in.sides), in.Low, in.High)
	}
	return fmt.Sprintf("drawn(%s, -1, 1)", script(in.sides))
}

// flattened is the shape of nested lists and their numbers in one.
func flattened(raw json.RawMessage) (dims []int, flat string) {
	var rows []json.RawMessage
	if json.Unmarshal(raw, &rows) != nil {
		return []int{}, "[" + string(raw) + "]"
	}
	dims = []int{len(rows)}
	var parts []string
	for i, row := range rows {
		inner, text := flattened(row)
		if i == 0 {
			dims = append(dims, inner...)
		}
		parts = append(parts, strings.Trim(text, "[]"))
	}
	return dims, "[" + strings.Join(parts, ", ") + "]"
}

// script writes a value in JavaScript.
func script(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // no value of a skill is one that JSON lacks
	}
	return strings.ReplaceAll(string(b), ",", ", ")
}
