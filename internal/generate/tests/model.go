package tests

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/catalog"
	"assay/internal/generate/pytext"
)

// Model is what a test file says of its model, as Python.
type Model struct {
	Type, Class, ConfigClass string
	Module                   string // where the class is; "transformers" for most
	Task, Family, Pipeline   string
	Checkpoint, Versions     string

	recipe recipe
	seen   catalog.Expectation
	known  bool // something was seen
	filled bool // long values have many elements a line
}

// recipe is what a test needs of one.
type recipe struct {
	Class       string          `json:"class"`
	ConfigClass string          `json:"config_class"`
	Module      string          `json:"module"`
	Library     string          `json:"library"`
	Program     string          `json:"program"`
	Task        string          `json:"task"`
	Config      json.RawMessage `json:"config"`
	Parts       json.RawMessage `json:"parts"`
	Sizes       map[string]int  `json:"sizes"`
	Inputs      []input         `json:"inputs"`
	Call        json.RawMessage `json:"call"`
	Gain        json.Number     `json:"gain"`
	Release     string          `json:"transformers"`
	Diffusers   string          `json:"diffusers"`
}

// Of returns the model of a choice. It fails with the catalogue's own reason
// where there is no recipe.
func Of(c *catalog.Catalog, chosen catalog.Choice) (Model, error) {
	e := chosen.Entry
	raw, err := c.Recipe(e.Type, chosen.Task, "tiny", "")
	if err != nil {
		return Model{}, err
	}
	m := Model{Type: e.Type, Family: e.Family, Pipeline: e.Pipeline, Checkpoint: chosen.Checkpoint}
	if err := json.Unmarshal(raw, &m.recipe); err != nil {
		return Model{}, fmt.Errorf("recipe of %s: %w", e.Type, err)
	}
	r := m.recipe
	m.Class, m.ConfigClass, m.Module, m.Task = r.Class, r.ConfigClass, r.Module, r.Task
	if m.Module == "" {
		m.Module = "transformers"
	}
	if m.Checkpoint == "" {
		m.Checkpoint = e.Checkpoint
	}
	if _, ok := builders[r.Program]; !ok {
		return Model{}, fmt.Errorf("no test file says yet how %s is run: its program is %q", e.Type, r.Program)
	}
	if err := m.addIndex(); err != nil {
		return Model{}, err
	}
	m.Versions = "transformers " + c.Transformers
	if r.Library == catalog.Diffusers {
		m.Versions = "diffusers " + c.Diffusers
	}
	m.seen, m.known = c.Expectation(e.Type)
	if chosen.Task != "" && chosen.Task != e.Task {
		m.seen, m.known = catalog.Expectation{}, false // it was seen with another head
	}
	return m, nil
}

// pipelines are those that have a template of their own.
var pipelines = map[string]bool{
	"text": true, "vision": true, "vision-text": true, "audio": true, "multimodal": true,
	"diffusion": true, "mixture-of-experts": true, "state-space": true, "rag": true,
}

// Imports are the lines that bring the model's classes in, and what else its
// builder needs of transformers.
func (m Model) Imports(more ...string) string {
	names := append(more, m.ConfigClass)
	if m.Module == "transformers" {
		return importLine("transformers", append(names, m.Class)...)
	}
	return importLine("transformers", names...) + "\n" + importLine(m.Module, m.Class)
}

func importLine(module string, names ...string) string {
	names = sorted(names)
	line := "from " + module + " import " + strings.Join(names, ", ")
	if len(line) <= pytext.Width {
		return line
	}
	return "from " + module + " import (\n    " + strings.Join(names, ",\n    ") + ",\n)"
}

// Config is the statement that names the tiny configuration.
func (m Model) Config() (string, error) {
	v, err := pytext.Parse(m.recipe.Config)
	if err != nil {
		return "", fmt.Errorf("configuration of %s: %w", m.Type, err)
	}
	return m.assigned("CONFIG", v), nil
}

// Filled says that long values have many elements a line.
func (m Model) Filled() bool { return m.filled }

// assigned is a statement that gives a value a name. In a file that would be too
// long what does not fit a line is filled, between marks that ruff heeds.
func (m Model) assigned(name string, v any) string {
	front := name + " = "
	text := pytext.Value(v, 0, len(front), 0)
	if !m.filled || !strings.Contains(text, "\n") {
		return front + text
	}
	return "# fmt: off\n" + front + pytext.Fill(v, 0, len(front), 0) + "\n# fmt: on"
}

// Gain is by how much random weights are widened, so that every layer is heard.
func (m Model) Gain() string {
	g, err := m.recipe.Gain.Float64()
	if err != nil || g == 0 {
		return "1.0"
	}
	return strconv.FormatFloat(g, 'f', 1, 64)
}

// Call is the call of the model with its inputs and settings.
func (m Model) Call() (string, error) { return m.called("model", "inputs", 4, len("    return ")) }

// called is a call of something with the inputs, by their name, and the recipe's
// settings, in a line that is indented and has so many characters in front.
func (m Model) called(what, inputs string, indent, before int, more ...pytext.Argument) (string, error) {
	v, err := pytext.Parse(m.recipe.Call)
	if err != nil {
		return "", fmt.Errorf("call of %s: %w", m.Type, err)
	}
	c := pytext.Call{Of: what, Args: append([]pytext.Argument{{Value: pytext.Code("**" + inputs)}}, more...)}
	for _, p := range v.(pytext.Dict) {
		c.Args = append(c.Args, pytext.Argument{Name: p.Key, Value: p.Value})
	}
	return pytext.Value(c, indent, before, 0), nil
}

// Build is the expression that makes the model, in a line that begins with
// front.
func (m Model) Build(front string) string {
	config := pytext.Call{Of: m.ConfigClass, Args: []pytext.Argument{{Value: pytext.Code("**CONFIG")}}}
	made := pytext.Call{Of: m.Class, Args: []pytext.Argument{{Value: config}}}
	return front + pytext.Value(made, 4, 4+len(front), 0)
}

// Checks is the template of the questions that its pipeline brings.
func (m Model) Checks() string {
	if pipelines[m.Pipeline] && !m.seen.Plain {
		return "pipelines/" + m.Pipeline + ".tmpl"
	}
	return "pipelines/other.tmpl"
}

// FileName is the name of its test file.
func (m Model) FileName() string { return Name(m.Type) }
