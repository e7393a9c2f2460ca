package tests

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/generate/pytext"
)

// builders are the templates that build, feed and call a model, by the program
// of its recipe: how it is run that is more than one forward.
var builders = map[string]string{
	"":         "plain",
	"encode":   "encode",   // it has no forward: larger models only encode with it
	"generate": "generate", // a use of it is a whole generation
	"pipeline": "pipeline", // several networks, a scheduler and tokenizers
	"rag":      "rag",      // documents are found and read
	"sample":   "sample",   // noise is drawn and removed in steps
	"track":    "track",    // objects are followed from frame to frame
}

// Builder is the template that builds, feeds and calls the model.
func (m Model) Builder() string { return builders[m.recipe.Program] }

// Has reports whether the model has an input of a name.
func (m Model) Has(name string) bool {
	for _, in := range m.recipe.Inputs {
		if in.Name == name {
			return true
		}
	}
	return false
}

// CallWith is the recipe's call of something other than the model, in a line that
// is indented and begins with front; `given` are its inputs.
func (m Model) CallWith(what, front string, indent int) (string, error) {
	text, err := m.called(what, "given", indent, indent+len(front))
	return strings.Repeat(" ", indent) + front + text, err
}

// Sets is how a model is told to generate, and false where it knows by itself.
func (m Model) Sets() (bool, error) {
	parts, err := m.parts()
	return len(parts) > 0, err
}

// Generation is the statement that names how a model is told to generate.
func (m Model) Generation() (string, error) {
	parts, err := m.parts()
	if err != nil {
		return "", err
	}
	return m.assigned("GENERATION", parts[0].Config), nil
}

// Speaker is the name under which a call asks for a voice; "" for most.
func (m Model) Speaker() string {
	var call struct{ Speaker string }
	if err := json.Unmarshal(m.recipe.Call, &call); err != nil || !m.Has("speaker_bos_token") {
		return ""
	}
	return call.Speaker
}

// Opened is the expression that opens a session about a video, with all that it
// remembers where the video is.
func (m Model) Opened(front string) string {
	opened := called(m.Session(), pytext.Code("video"), pytext.Code("*video.shape[-2:]"), pytext.Code("*devices"),
		pytext.Argument{Name: "dtype", Value: pytext.Code("video.dtype")})
	return front + pytext.Value(opened, 8, 8+len(front), 0)
}

// Session is the class of the sessions that a model follows objects in.
func (m Model) Session() string { return strings.TrimSuffix(m.Class, "Model") + "InferenceSession" }

// addIndex gives a model that finds documents the documents as inputs, which all
// samples share.
func (m *Model) addIndex() error {
	if m.recipe.Program != "rag" {
		return nil
	}
	var row struct {
		Index struct {
			Config struct{ Documents, Tokens, Low, High int }
		}
	}
	var config struct {
		Encoder struct {
			Width int `json:"hidden_size"`
		} `json:"question_encoder"`
	}
	if err := json.Unmarshal(m.recipe.Parts, &row); err != nil {
		return fmt.Errorf("parts of %s: %w", m.Type, err)
	}
	if err := json.Unmarshal(m.recipe.Config, &config); err != nil {
		return fmt.Errorf("configuration of %s: %w", m.Type, err)
	}
	index := row.Index.Config
	m.recipe.Inputs = append(m.recipe.Inputs,
		input{Name: "documents", Kind: "ids", Low: index.Low, High: index.High, Shape: fixed(index.Documents, index.Tokens)},
		input{Name: "embeddings", Kind: "float", Shape: fixed(index.Documents, config.Encoder.Width)})
	return nil
}

func fixed(sizes ...int) []json.RawMessage {
	shape := make([]json.RawMessage, len(sizes))
	for i, n := range sizes {
		shape[i] = json.RawMessage(fmt.Sprint(n))
	}
	return shape
}

// part is one part of a model that is put together from several classes.
type part struct {
	Name, Class, Module string
	Config              pytext.Dict
	Left                bool // left out: the model does without it
}

// parts are the parts of a recipe, in its order.
func (m Model) parts() ([]part, error) {
	if len(m.recipe.Parts) == 0 {
		return nil, nil
	}
	v, err := pytext.Parse(m.recipe.Parts)
	if err != nil {
		return nil, fmt.Errorf("parts of %s: %w", m.Type, err)
	}
	var parts []part
	for _, p := range v.(pytext.Dict) {
		made := part{Name: p.Key}
		row, ok := p.Value.(pytext.Dict)
		made.Left = !ok
		for _, field := range row {
			switch field.Key {
			case "class":
				made.Class, _ = field.Value.(string)
			case "module":
				made.Module, _ = field.Value.(string)
			case "config":
				made.Config, _ = field.Value.(pytext.Dict)
			}
		}
		parts = append(parts, made)
	}
	return parts, nil
}
