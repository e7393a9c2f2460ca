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

// kinds write the expression of one sample's input.
var kinds = map[string]func(m Model, in input, shape []int) (string, error){
	"ids": func(_ Model, in input, shape []int) (string, error) {
		return fmt.Sprintf("torch.randint(%d, %d, %s, generator=draw)", in.Low, in.High, tuple(shape)), nil
	},
	"float": func(_ Model, in input, shape []int) (string, error) {
		return fmt.Sprintf("torch.rand(%s, generator=draw) * 2 - 1", tuple(shape)), nil
	},
	"ones":  filled("ones"),
	"zeros": filled("zeros"),
	"range": func(_ Model, in input, shape []int) (string, error) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		if in.Flat {
			return fmt.Sprintf("torch.arange(%d).reshape(%s)", n, tuple(shape)), nil
		}
		return fmt.Sprintf("torch.arange(%d).expand(%s).contiguous()", shape[len(shape)-1], tuple(shape)), nil
	},
	"value": func(_ Model, in input, _ []int) (string, error) {
		v, err := pytext.Parse(in.Value)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("torch.tensor(%s, dtype=torch.%s)", pytext.Value(v, 0, -1<<20, 0), in.DType), nil
	},
}

func filled(how string) func(Model, input, []int) (string, error) {
	return func(_ Model, in input, shape []int) (string, error) {
		return fmt.Sprintf("torch.%s(%s, dtype=torch.%s)", how, tuple(shape), in.DType), nil
	}
}

func tuple(shape []int) string {
	t := pytext.Tuple{}
	for _, n := range shape {
		t = append(t, n)
	}
	return pytext.Value(t, 0, -1<<20, 0)
}

// Sample is the body of the function that makes one sample.
func (m Model) Sample() (string, error) {
	var b strings.Builder
	if m.draws() {
		b.WriteString("    draw = torch.Generator().manual_seed(seed)\n")
	}
	b.WriteString("    inputs = {\n")
	var after []string
	for _, in := range m.recipe.Inputs {
		text, then, err := m.input(in)
		if err != nil {
			return "", fmt.Errorf("input %s of %s: %w", in.Name, m.Type, err)
		}
		b.WriteString(laidOut(in.Name, text))
		after = append(after, then...)
	}
	b.WriteString("    }\n")
	for _, line := range after {
		b.WriteString("    " + line + "\n")
	}
	b.WriteString("    return inputs")
	return b.String(), nil
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
func (m Model) input(in input) (string, []string, error) {
	write, ok := kinds[in.Kind]
	if !ok {
		return "", nil, fmt.Errorf("its kind %q has no Python", in.Kind)
	}
	shape, err := m.shape(in, 1)
	if err != nil {
		return "", nil, err
	}
	text, err := write(m, in, shape)
	if err != nil {
		return "", nil, err
	}
	var then []string
	name := "inputs[" + pytext.Quote(in.Name) + "]"
	for _, p := range in.Place {
		at, err := m.number(p.At, 0, 1)
		if err != nil {
			return "", nil, err
		}
		count, err := m.number(p.Count, 1, 1)
		if err != nil {
			return "", nil, err
		}
		then = append(then, fmt.Sprintf("%s[..., %d:%d] = %d", name, at, at+count, p.ID))
	}
	if in.Grid > 0 {
		rows := shape[len(shape)-2]
		then = append(then,
			fmt.Sprintf("%s[..., 0] = torch.arange(%d) // %d + 1", name, rows, in.Grid),
			fmt.Sprintf("%s[..., 1] = torch.arange(%d) %% %d + 1", name, rows, in.Grid))
	}
	return text, then, nil
}

// laidOut is a pair of the dictionary of inputs, broken where it is too long.
func laidOut(name, text string) string {
	line := "        " + pytext.Quote(name) + ": " + text + ","
	if len(line) <= pytext.Width || !strings.HasSuffix(text, ")") {
		return line + "\n"
	}
	open := strings.Index(text, "(")
	head, args := text[:open], text[open+1:len(text)-1]
	return "        " + pytext.Quote(name) + ": " + head + "(\n            " + args + "\n        ),\n"
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

// Batched says of each input along which axis samples are joined; none for an
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
	return pytext.Value(axes, 0, len("BATCHED = "), 0), nil
}
