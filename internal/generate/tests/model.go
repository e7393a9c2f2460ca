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

// Imports are the lines that bring the model's classes in.
func (m Model) Imports() string {
	if m.Module == "transformers" {
		return importLine("transformers", m.Class, m.ConfigClass)
	}
	return importLine("transformers", m.ConfigClass) + "\n" + importLine(m.Module, m.Class)
}

func importLine(module string, names ...string) string {
	names = sorted(names)
	line := "from " + module + " import " + strings.Join(names, ", ")
	if len(line) <= pytext.Width {
		return line
	}
	return "from " + module + " import (\n    " + strings.Join(names, ",\n    ") + ",\n)"
}

// Config is the tiny configuration.
func (m Model) Config() (string, error) {
	v, err := pytext.Parse(m.recipe.Config)
	if err != nil {
		return "", fmt.Errorf("configuration of %s: %w", m.Type, err)
	}
	return pytext.Value(v, 0, len("CONFIG = "), 0), nil
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
func (m Model) Call() (string, error) {
	v, err := pytext.Parse(m.recipe.Call)
	if err != nil {
		return "", fmt.Errorf("call of %s: %w", m.Type, err)
	}
	args := []string{"**inputs"}
	for _, p := range v.(pytext.Dict) {
		args = append(args, p.Key+"="+pytext.Value(p.Value, 0, 0, 0))
	}
	return callOf("    return model", args), nil
}

// callOf lays a call out on one line, on one inside brackets, or an argument a
// line.
func callOf(front string, args []string) string {
	line := front + "(" + strings.Join(args, ", ") + ")"
	if len(line) <= pytext.Width {
		return line
	}
	pad := "\n        "
	if inner := pad + strings.Join(args, ", "); len(inner)-1 <= pytext.Width {
		return front + "(" + inner + "\n    )"
	}
	return front + "(" + pad + strings.Join(args, ","+pad) + ",\n    )"
}

// Build is the expression that makes the model.
func (m Model) Build() string {
	line := "    return " + m.Class + "(" + m.ConfigClass + "(**CONFIG))"
	if len(line) <= pytext.Width {
		return strings.TrimPrefix(line, "    return ")
	}
	return m.Class + "(\n        " + m.ConfigClass + "(**CONFIG)\n    )"
}

// Builder is the template that builds, feeds and calls the model.
func (m Model) Builder() string { return "plain" }

// Checks is the template of the questions that its pipeline brings.
func (m Model) Checks() string {
	if pipelines[m.Pipeline] && !m.seen.Plain {
		return "pipelines/" + m.Pipeline + ".tmpl"
	}
	return "pipelines/other.tmpl"
}

// FileName is the name of its test file.
func (m Model) FileName() string { return Name(m.Type) }
