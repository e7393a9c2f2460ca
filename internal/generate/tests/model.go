package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/internal/catalog"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// Model is what a test file says about its model, as Python.
type Model struct {
	Type, Class, ConfigClass string
	Module                   string // where the class is; "transformers" for most
	Task, Family, Pipeline   string
	Checkpoint, Versions     string

	recipe recipe
	seen   catalog.Expectation
	known  bool // something was seen
	width  int  // of lines that long values fill; 0: each element has its own
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

// unheard are types whose outputs say nothing with random weights, and why.
var unheard = map[string]string{
	"efficientnet": "with random weights its signal dies out in fifty convolutions: the outputs are zero, and nothing can be compared",
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
		return Model{}, fmt.Errorf("there is no test yet for how %s is run: its program is %q", e.Type, r.Program)
	}
	if err := m.addIndex(); err != nil {
		return Model{}, err
	}
	m.Versions = "transformers " + c.Transformers
	if r.Library == catalog.Diffusers {
		m.Versions = "diffusers " + c.Diffusers
	}
	if why, ok := unheard[e.Type]; ok {
		return Model{}, errors.New(why)
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
	more = append(more, m.ConfigClass)
	if m.Module == "transformers" {
		return importLine("transformers", append(more, m.Class)...)
	}
	return importLine("transformers", more...) + "\n" + importLine(m.Module, m.Class)
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
	return m.assigned("CONFIG", plain(v)), nil
}

// implied are values that every configuration of transformers has unless it is
// told otherwise: a recipe that was made from a whole configuration names them,
// and its reader need not.
var implied = map[string]any{
	"chunk_size_feed_forward": json.Number("0"),
	"output_attentions":       false,
	"output_hidden_states":    false,
	"return_dict":             true,
}

// plain is a configuration without what is implied.
func plain(v any) any {
	config, ok := v.(pytext.Dict)
	if !ok {
		return v
	}
	kept := pytext.Dict{}
	for _, p := range config {
		if want, ok := implied[p.Key]; ok && p.Value == want {
			continue
		}
		kept = append(kept, pytext.Pair{Key: p.Key, Value: plain(p.Value)})
	}
	return kept
}

// Filled says that long values have many elements a line.
func (m Model) Filled() bool { return m.width > 0 }

// assigned is a statement that gives a value a name.
func (m Model) assigned(name string, v any) string {
	front := name + " = "
	if m.Filled() {
		return front + pytext.Fill(v, m.width, 0, len(front), 0)
	}
	return front + pytext.Value(v, 0, len(front), 0)
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
// settings, in a line that is indented and has this many characters in front.
func (m Model) called(what, inputs string, indent, before int, more ...any) (string, error) {
	settings, err := m.settings()
	if err != nil {
		return "", err
	}
	args := append([]any{pytext.Code("**" + inputs)}, more...)
	if m.apart(settings) {
		args = append(args, pytext.Code("**CALL"))
	} else {
		for _, p := range settings {
			args = append(args, pytext.Argument{Name: p.Key, Value: p.Value})
		}
	}
	return pytext.Value(called(what, args...), indent, before, 0), nil
}

// settings are what a call is given beside the inputs.
func (m Model) settings() (pytext.Dict, error) {
	v, err := pytext.Parse(m.recipe.Call)
	settings, ok := v.(pytext.Dict)
	if err == nil && !ok {
		err = errors.New("it is not an object")
	}
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", m.Type, err)
	}
	return settings, nil
}

// apart says that the settings of the call stand with the other values: a call
// has a line for each.
func (m Model) apart(settings pytext.Dict) bool { return m.Filled() && len(settings) > 3 }

// Settings is the statement that names the settings of the call, where they
// stand apart.
func (m Model) Settings() (string, error) {
	settings, err := m.settings()
	if err != nil || !m.apart(settings) {
		return "", err
	}
	return "\n# What it is called with besides its inputs.\n" + m.assigned("CALL", settings), nil
}

// Build is the expression that makes the model, in a line that begins with
// front.
func (m Model) Build(front string) string {
	made := called(m.Class, called(m.ConfigClass, pytext.Code("**CONFIG")))
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

// RunsOn reports whether some machine with the platform can run the model.
func (m Model) RunsOn(n platform.Name) bool {
	p, ok := platform.Get(n)
	return ok && (m.NoGraph() == "" || !p.Engines[0].Traits().Graphs)
}

// NoGraph is why no engine that runs graphs runs the model; "" where one may.
func (m Model) NoGraph() string {
	if m.recipe.Program == "" {
		return ""
	}
	return "it is run as several calls, which do not fit into one graph"
}
