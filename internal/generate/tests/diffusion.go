package tests

import (
	"fmt"
	"regexp"
	"strings"

	"assay/internal/generate/pytext"
)

// words is the module that stands in a recipe for a tokenizer that conftest.py makes.
const words = "assay_words"

// counts are the pipelines that are told how many pictures to make, and do not
// see it by their inputs.
var counts = regexp.MustCompile(`^(DDIM|DDPM|ConsistencyModel)Pipeline$`)

// PartImports are the lines that bring in the classes of a pipeline's parts.
func (m Model) PartImports() (string, error) {
	parts, err := m.parts()
	if err != nil {
		return "", err
	}
	names := map[string][]string{"diffusers": {m.Class}}
	for _, p := range parts {
		if p.Module != words && !p.Left {
			names[p.Module] = append(names[p.Module], p.Class)
		}
	}
	lines := []string{importLine("diffusers", names["diffusers"]...)}
	if len(names["transformers"]) > 0 {
		lines = append(lines, importLine("transformers", names["transformers"]...))
	}
	return strings.Join(lines, "\n"), nil
}

// Parts is the statement that names the parts: the class and the configuration
// of each. Tokenizers and what is not a part at all have no class.
func (m Model) Parts() (string, error) {
	parts, err := m.parts()
	if err != nil {
		return "", err
	}
	rows := pytext.Dict{}
	for _, p := range parts {
		rows = append(rows, pytext.Pair{Key: p.Name, Value: p.row()})
	}
	config, err := pytext.Parse(m.recipe.Config)
	if err != nil {
		return "", fmt.Errorf("configuration of %s: %w", m.Type, err)
	}
	return m.assigned("PARTS", append(rows, config.(pytext.Dict)...)), nil
}

func (p part) row() any {
	switch {
	case p.Left:
		return nil
	case p.Module == words:
		return pytext.Tuple{"words", tokenizer(p.Config)}
	}
	return pytext.Tuple{pytext.Code(p.Class), p.Config}
}

// tokenizer is the configuration of a tokenizer as conftest.py
// takes it: ids of marks, how many words there are, and what stands around a text.
func tokenizer(config pytext.Dict) pytext.Dict {
	made := pytext.Dict{}
	for _, p := range config {
		switch v := p.Value.(type) {
		case pytext.Dict:
			made = append(made, v...)
		case []any:
			marks := make([]string, len(v))
			for i, name := range v {
				marks[i] = fmt.Sprintf("<%s>", name)
			}
			last := len(marks) - 1
			around := strings.Join(append(append(marks[:last:last], "$A"), marks[last]), " ")
			made = append(made, pytext.Pair{Key: p.Key, Value: around})
		default:
			made = append(made, p)
		}
	}
	return made
}

// Whole is the call of the pipeline, in a line that begins with front.
func (m Model) Whole(front string) (string, error) {
	var more []any
	if counts.MatchString(m.Class) {
		more = append(more, pytext.Argument{Name: "batch_size", Value: pytext.Code(`len(inputs["noise"])`)})
	}
	return m.called(front, "inputs", 4, 4, more...)
}
