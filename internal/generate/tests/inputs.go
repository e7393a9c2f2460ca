package tests

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/expression"
	"assay/internal/generate/pytext"
)

// input is how one input is made, as recipes have it.
type input struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"`
	DType    string            `json:"dtype"`
	Shape    []json.RawMessage `json:"shape"`
	Low      int               `json:"low"`
	High     int               `json:"high"`
	Place    []placed          `json:"place"`
	Value    json.RawMessage   `json:"value"`
	PerBatch bool              `json:"per_batch"`
	Grid     int               `json:"grid"`
	Flat     bool              `json:"flat"`
}

// placed are ids at fixed positions: those that stand for an image, say.
type placed struct {
	ID    int             `json:"id"`
	At    json.RawMessage `json:"at"`
	Count json.RawMessage `json:"count"`
}

// kinds are the expressions of one sample's input.
var kinds = map[string]func(in input, shape []int) (any, error){
	"ids": func(in input, shape []int) (any, error) {
		return called("torch.randint", in.Low, in.High, tuple(shape), drawn), nil
	},
	"float": func(_ input, shape []int) (any, error) {
		return pytext.Code(pytext.Inline(called("torch.rand", tuple(shape), drawn)) + " * 2 - 1"), nil
	},
	"ones":  filled("torch.ones"),
	"zeros": filled("torch.zeros"),
	"range": func(in input, shape []int) (any, error) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		if in.Flat {
			return called(fmt.Sprintf("torch.arange(%d).reshape", n), tuple(shape)), nil
		}
		line := called(fmt.Sprintf("torch.arange(%d).expand", shape[len(shape)-1]), tuple(shape))
		return pytext.Code(pytext.Inline(line) + ".contiguous()"), nil
	},
	"value": func(in input, _ []int) (any, error) {
		v, err := pytext.Parse(in.Value)
		return called("torch.tensor", v, in.dtype()), err
	},
}

var drawn = pytext.Argument{Name: "generator", Value: pytext.Code("draw")}

func (in input) dtype() pytext.Argument {
	return pytext.Argument{Name: "dtype", Value: pytext.Code("torch." + in.DType)}
}

func filled(of string) func(input, []int) (any, error) {
	return func(in input, shape []int) (any, error) { return called(of, tuple(shape), in.dtype()), nil }
}

// called is a call with arguments: those that have no name by their places.
func called(of string, args ...any) pytext.Call {
	c := pytext.Call{Of: of}
	for _, a := range args {
		named, ok := a.(pytext.Argument)
		if !ok {
			named.Value = a
		}
		c.Args = append(c.Args, named)
	}
	return c
}

func tuple(shape []int) pytext.Tuple {
	t := pytext.Tuple{}
	for _, n := range shape {
		t = append(t, n)
	}
	return t
}

// Sample is the body of the function that makes one sample.
func (m Model) Sample() (string, error) {
	var b strings.Builder
	if m.draws() {
		b.WriteString("    draw = torch.Generator().manual_seed(seed)\n")
	}
	var inputs pytext.Dict
	var after []string
	for _, in := range m.recipe.Inputs {
		value, then, err := m.input(in)
		if err != nil {
			return "", fmt.Errorf("input %s of %s: %w", in.Name, m.Type, err)
		}
		inputs = append(inputs, pytext.Pair{Key: in.Name, Value: value})
		after = append(after, then...)
	}
	if len(after) == 0 {
		b.WriteString(m.inputs("    return ", inputs))
		return strings.TrimSuffix(b.String(), "\n"), nil
	}
	b.WriteString(m.inputs("    inputs = ", inputs))
	for _, line := range after {
		b.WriteString("    " + line + "\n")
	}
	b.WriteString("    return inputs")
	return b.String(), nil
}

// longValue is how many lines a single input may have before it is filled.
const longValue = 4

// inputs is the statement, with its front, that has the inputs: one per line, or
// filled where the file, or one of them, would be too long.
func (m Model) inputs(front string, inputs pytext.Dict) string {
	lines, most := front+"{\n", 0
	for _, p := range inputs {
		key := "        " + pytext.Quote(p.Key) + ": "
		text := key + pytext.Value(p.Value, 8, len(key), 1) + ",\n"
		lines, most = lines+text, max(most, strings.Count(text, "\n"))
	}
	lines += "    }\n"
	filled := "    # fmt: off\n" + front + pytext.Fill(inputs, max(m.width, pytext.Width), 4, len(front), 0) + "\n    # fmt: on\n"
	if (m.Filled() || most > longValue) && strings.Count(filled, "\n") < strings.Count(lines, "\n") {
		return filled
	}
	return lines
}

// draws reports whether some input is drawn at random.
func (m Model) draws() bool {
	for _, in := range m.recipe.Inputs {
		if in.Kind == "ids" || in.Kind == "float" {
			return true
		}
	}
	return false
}

// input returns the expression of an input and the statements that follow.
func (m Model) input(in input) (any, []string, error) {
	write, ok := kinds[in.Kind]
	if !ok {
		return nil, nil, fmt.Errorf("its kind %q has no Python", in.Kind)
	}
	shape, err := m.shape(in, 1)
	if err != nil {
		return nil, nil, err
	}
	value, err := write(in, shape)
	if err != nil {
		return nil, nil, err
	}
	var then []string
	name := "inputs[" + pytext.Quote(in.Name) + "]"
	for _, p := range in.Place {
		at, err := m.number(p.At, 0, 1)
		if err != nil {
			return nil, nil, err
		}
		count, err := m.number(p.Count, 1, 1)
		if err != nil {
			return nil, nil, err
		}
		then = append(then, fmt.Sprintf("%s[..., %d:%d] = %d", name, at, at+count, p.ID))
	}
	if in.Grid > 0 {
		rows := shape[len(shape)-2]
		then = append(then,
			fmt.Sprintf("%s[..., 0] = torch.arange(%d) // %d + 1", name, rows, in.Grid),
			fmt.Sprintf("%s[..., 1] = torch.arange(%d) %% %d + 1", name, rows, in.Grid))
	}
	return value, then, nil
}

// shape is an input's shape for a batch.
func (m Model) shape(in input, batch int) ([]int, error) {
	shape := []int{}
	for _, raw := range in.Shape {
		n, err := m.number(raw, 0, batch)
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// number is an entry of a shape: a number, or an expression over the recipe's sizes.
func (m Model) number(raw json.RawMessage, otherwise, batch int) (int, error) {
	if len(raw) == 0 {
		return otherwise, nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	names := map[string]int{"batch": batch}
	for k, v := range m.recipe.Sizes {
		names[k] = v
	}
	return expression.Evaluate(text, names)
}

// Batched is the statement that says of each input along which axis samples are joined; none for an
// input that all samples share.
func (m Model) Batched() (string, error) {
	axes := pytext.Dict{}
	for _, in := range m.recipe.Inputs {
		axis := -1
		if in.Kind == "value" && in.PerBatch {
			axis = 0
		}
		for i, raw := range in.Shape {
			if axis < 0 && strings.Contains(string(raw), "batch") {
				axis = i
			}
		}
		along := pytext.Tuple{}
		if axis >= 0 {
			along = append(along, axis)
		}
		axes = append(axes, pytext.Pair{Key: in.Name, Value: along})
	}
	return m.assigned("BATCHED", axes), nil
}
