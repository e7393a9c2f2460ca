package skills

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/generate/pytext"
)

// made is an input and the expression that makes it.
type made struct{ Name, Made string }

// argument is a positional one of the command line.
type argument struct{ Name, Number, Help string }

// Usage is the command line in the head of the file.
func (s skill) Usage() string {
	words := []string{"python", s.Stem + ".py"}
	for _, n := range s.natural {
		words = append(words, naturals[n].argument)
	}
	return strings.Join(append(words, "--platform auto --weights hub"), " ")
}

// Takes is the type of what is asked.
func (s skill) Takes() string {
	if len(s.natural) == 1 {
		return naturals[s.natural[0]].takes
	}
	return "dict"
}

// Example is the expression of something to try the skill with.
func (s skill) Example() string {
	d := pytext.Dict{}
	for _, n := range s.natural {
		d = append(d, pytext.Pair{Key: n, Value: pytext.Code(naturals[n].example)})
	}
	if len(d) == 1 {
		return pytext.Value(d[0].Value, 4, 11, 0)
	}
	return pytext.Value(d, 4, 11, 0)
}

// Drawn are the inputs of a skill that takes tensors, each with its expression.
func (s skill) Drawn() []made {
	var out []made
	for _, in := range s.inputs {
		if s.Program != "sample" || in.Name != "noise" {
			out = append(out, made{in.Name, in.fixed()})
		}
	}
	return out
}

// Made are the inputs of random weights, each with its expression.
func (s skill) Made() []made {
	var out []made
	for _, in := range s.reads {
		if in.Name != "decoder_input_ids" || !s.generates {
			out = append(out, made{in.Name, in.made(len(s.natural) > 1)})
		}
	}
	return out
}

// Fixed are inputs whose values are given.
func (s skill) Fixed() (pytext.Dict, error) {
	d := pytext.Dict{}
	for _, in := range s.inputs {
		if in.Kind != "value" {
			continue
		}
		v, err := pytext.Parse(in.Value)
		if err != nil {
			return nil, fmt.Errorf("input %s of %s: %w", in.Name, s.Type, err)
		}
		d = append(d, pytext.Pair{Key: in.Name, Value: v})
	}
	return d, nil
}

// Start is the id that an answer of random weights begins with.
func (s skill) Start() (int, error) {
	var c struct {
		Start   *int `json:"decoder_start_token_id"`
		Padding int  `json:"pad_token_id"`
	}
	if err := json.Unmarshal(s.Config, &c); err != nil {
		return 0, fmt.Errorf("configuration of %s: %w", s.Type, err)
	}
	if c.Start != nil {
		return *c.Start, nil
	}
	return c.Padding, nil
}

// Silence is the id of nothing said, of random weights.
func (s skill) Silence() (int, error) {
	var c struct {
		Padding int `json:"pad_token_id"`
	}
	err := json.Unmarshal(s.Config, &c)
	return c.Padding, err
}

// Marks are the ids that have their place in an input.
func (s skill) Marks() pytext.Dict {
	d := pytext.Dict{}
	for _, in := range s.inputs {
		list := []any{}
		for _, p := range in.places {
			list = append(list, pytext.Tuple{p[0], p[1], p[2]})
		}
		if len(list) > 0 && in.Name != "bbox" {
			d = append(d, pytext.Pair{Key: in.Name, Value: list})
		}
	}
	return d
}

// Gathered is what a processor of several things is given.
func (s skill) Gathered() []made {
	var out []made
	for _, n := range s.natural {
		out = append(out, made{naturals[n].processor, fmt.Sprintf(naturals[n].gathers, fmt.Sprintf("x[%q]", n))})
	}
	return out
}

// Kinds are the marks of what is asked beside a text, in a turn of a chat.
func (s skill) Kinds() string {
	list := []any{}
	for _, n := range s.natural {
		if n != text {
			list = append(list, pytext.Dict{{Key: "type", Value: n}})
		}
	}
	return pytext.Value(list, 0, 0, 0)
}

// Padding is how sounds of different lengths are made equal.
func (s skill) Padding() string {
	if slices.Contains(wholeWindow, s.Type) {
		return `"max_length"`
	}
	return "True"
}

// wholeWindow are the types that hear a window of one length, however long the
// sound in it is.
var wholeWindow = []string{"whisper"}

// Arguments are the positional ones of the command line.
func (s skill) Arguments() []argument {
	var out []argument
	for _, n := range s.natural {
		out = append(out, argument{n, "?", naturals[n].help})
	}
	if s.Has(question) {
		out = append(out, argument{"documents", "*", "documents that answer it"})
	}
	return out
}

// Reads are the lines that read them.
func (s skill) Reads() []string {
	lines := []string{"x = example()"}
	for _, n := range s.natural {
		to := "x"
		if len(s.natural) > 1 {
			to = fmt.Sprintf("x[%q]", n)
		}
		lines = append(lines, "if asked."+n+":", "    "+to+" = "+fmt.Sprintf(naturals[n].reads, "asked."+n))
	}
	return lines
}
