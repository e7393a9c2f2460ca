package report

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/cell"
)

// ModelRow is a catalogue entry as `assay models` lists it.
type ModelRow struct {
	Type       string   `json:"type"`
	Library    string   `json:"library"`
	Class      string   `json:"class"`
	Task       string   `json:"task"`
	Tasks      []string `json:"tasks"`
	Family     string   `json:"family"`
	Families   []string `json:"families"`
	Pipeline   string   `json:"pipeline"`
	Checkpoint string   `json:"checkpoint"`
	Priority   string   `json:"priority"`
	Inputs     []string `json:"inputs"`
}

// ModelList is the top level of models --json.
type ModelList struct {
	Schema int        `json:"schema"`
	Models []ModelRow `json:"models"`
}

// WriteModels lists catalogue entries as text or JSON.
func WriteModels(w io.Writer, f Format, rows []ModelRow) error {
	switch f {
	case JSON:
		if rows == nil {
			rows = []ModelRow{}
		}
		return writeJSON(w, ModelList{cell.Schema, rows})
	case Text:
		return modelsText(plain(w), rows)
	}
	return fmt.Errorf("models are listed as text or json, not as %q", f)
}

func modelsText(w io.Writer, rows []ModelRow) error {
	g := grid{head: []string{"type", "family", "task", "class", "checkpoint", "priority"}}
	for _, r := range rows {
		g.add(bold.Render(r.Type), r.Family, r.Task, r.Class, r.Checkpoint, r.Priority)
	}
	var b strings.Builder
	if err := g.text(&b, ""); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", b.String(), faint.Render(plural(len(rows), "model")))
	return err
}
