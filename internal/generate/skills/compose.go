package skills

import (
	"slices"
	"strings"
)

// part is a function or a class of a file: the templates of its head and of
// its methods, one blank line apart.
type part []string

// python is the composition of a skill in Python, in the order of the file.
func (s skill) python() []part {
	if own, ok := compositions[s.Program]; ok {
		return own(s)
	}
	parts := []part{{"head"}, {"unavailable"}}
	if s.Naturals() {
		parts = append(parts, part{"example"}, part{"source"}, part{"plain"})
	} else {
		parts = append(parts, part{"example named"}, part{"source"})
	}
	parts = append(parts, singly(s.pieces())...)
	if !s.generates {
		parts = append(parts, part{"named"})
	}
	parts = append(parts, part{"divided"})
	return append(append(parts, s.engines()...), s.class(), part{"main"})
}

// compositions are those of programs that have little in common with a forward.
var compositions = map[string]func(skill) []part{
	"track": func(s skill) []part {
		return []part{
			{"head"}, {"unavailable"}, {"example named"}, {"source"}, {s.Tracked()}, {"torch", "torch track"}, {"tables"},
			{"skill", "load", "run alone named", "batch alone named", "answer arrays", "settings"}, {"main"},
		}
	},
	"rag": func(s skill) []part {
		return []part{
			{"head"}, {"unavailable"}, {"example"}, {"source"}, {"rag ids"}, {"text"}, {"torch", "torch rag"}, {"tables"},
			{"skill", "load", "run rag", "batch alone", "decoded rag", "settings"}, {"main"},
		}
	},
	"pipeline": func(s skill) []part {
		parts := []part{{"head pipeline"}, {"unavailable"}, {"example"}, {"source pipeline"}}
		if s.Lettered() {
			parts = append(parts, part{"letters"})
		}
		if s.Has(image) {
			parts = append(parts, part{"picture"}, part{"pixels"})
		}
		return append(parts, part{"assembled"}, part{"torch pipeline"}, part{"tables"},
			part{"skill pipeline", "load", "run pipeline", "settings"}, part{"main"})
	},
}

// engines are what runs the model, and how each is reached.
func (s skill) engines() []part {
	torch, graph := part{"torch", "torch forward"}, part{"graph"}
	if s.generates {
		torch, graph = part{"torch", "torch " + grows[s.Grows]}, part{"graph", "graph " + grows[s.Grows]}
	}
	parts := []part{torch}
	if s.Length() > 0 {
		parts = append(parts, part{"length"})
	}
	if len(s.Graphs()) > 0 {
		parts = append(parts, graph)
	}
	var reached once
	for _, n := range s.on {
		if p := places[n].piece; p != "" {
			reached.add(p)
		}
	}
	return append(append(parts, singly(reached)...), part{"tables"})
}

// once are names in the order in which they came first, each once.
type once []string

func (o *once) add(names ...string) {
	for _, n := range names {
		if !slices.Contains(*o, n) {
			*o = append(*o, n)
		}
	}
}

// singly are pieces that stand each for itself.
func singly(pieces []string) []part {
	var parts []part
	for _, p := range pieces {
		parts = append(parts, part{p})
	}
	return parts
}

// grows names the template of generating by what grows.
var grows = map[string]string{"input_ids": "continue", "decoder_input_ids": "answer"}

// pieces are the functions that the natural inputs and the answer need.
func (s skill) pieces() []string {
	var out once
	for _, n := range s.natural {
		out.add(naturals[n].pieces...)
	}
	for _, in := range s.reads {
		if in.piece != "" {
			out.add(in.piece)
		}
		if in.Grid > 0 {
			out.add("gridded")
		}
	}
	out.add(s.answer.pieces...)
	return out
}

// class is the skill's class.
func (s skill) class() part {
	named := ""
	if len(s.natural) == 0 {
		named = " named"
	}
	methods := part{"skill", "load"}
	switch {
	case s.generates && s.Apart == "":
		methods = append(methods, "run generate", "batch generate")
	case s.generates:
		methods = append(methods, "run generate", "batch alone")
	case s.Piece == fit.Piece:
		methods = append(methods, "run similarity", "batch alone")
	case s.Apart != "":
		methods = append(methods, "run alone"+named, "batch alone"+named)
	default:
		methods = append(methods, "run"+named, "batch")
	}
	if s.Naturals() || s.Apart == "" {
		methods = append(methods, "inputs"+named)
	}
	if s.Processed != "" {
		methods = append(methods, "processed "+s.Processed)
	}
	if s.Piece != "" {
		methods = append(methods, "answer "+s.Piece)
	}
	for _, m := range []string{"decoded", "label"} {
		if slices.Contains(s.methods, m) {
			methods = append(methods, m)
		}
	}
	return append(methods, "settings")
}

// test is the composition of the skill's test.
func (s skill) test() []part {
	other := "other"
	if !s.Naturals() {
		other = "other named"
	}
	parts := []part{{"test"}, {"skill fixture"}, {other}, {"near"}, {s.numbers()}}
	if s.Checked() {
		parts = append(parts, part{"agrees"})
	}
	parts = append(parts, part{"test settings"}, part{"test answer"}, part{"test finite"}, part{"test batch"})
	if !slices.Contains(unheard, s.Type) {
		parts = append(parts, part{"test input matters"})
	}
	if !s.Draws() { // each device draws its own numbers
		parts = append(parts, part{"test as on cpu"})
	}
	if s.Absent() != "" {
		parts = append(parts, part{"test fallback"})
	}
	return append(parts, part{"test release"}, part{"test main"})
}

// joined puts the parts of a file together, with one blank line between the
// methods of a class.
func joined(parts []part, apart string, render func(name string) (string, error)) (string, error) {
	var whole []string
	for _, p := range parts {
		var inner []string
		for _, name := range p {
			text, err := render(name)
			if err != nil {
				return "", err
			}
			inner = append(inner, strings.Trim(text, "\n"))
		}
		whole = append(whole, strings.Join(inner, "\n\n"))
	}
	return strings.Join(whole, apart) + "\n", nil
}
