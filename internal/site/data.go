package site

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"strings"
	"time"

	"assay/internal/atlas"
	"assay/internal/board"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/matrix"
)

// about is what the page of a model reads.
type about struct {
	Model      entry            `json:"model"`
	Answer     answer           `json:"answer"`
	Parameters map[string]int64 `json:"parameters,omitempty"` // of its checkpoints
}

// entry is the catalogue's, as models --json has it.
type entry struct {
	Type       string   `json:"type"`
	Library    string   `json:"library"`
	Class      string   `json:"class"`
	Task       string   `json:"task"`
	Tasks      []string `json:"tasks"`
	Family     string   `json:"family"`
	Families   []string `json:"families"`
	Checkpoint string   `json:"checkpoint"`
	Priority   string   `json:"priority"`
	Inputs     []string `json:"inputs"`
}

// answer is can-i-use's, and whether an engine is newer than a line's.
type answer struct {
	atlas.Answer
	Targets []line `json:"targets"`
}

type line struct {
	atlas.Line
	Newer string `json:"newer,omitempty"`
}

// ask asks the atlas about every model.
func (s *site) ask() error {
	chosen, err := s.Catalog.Select(catalog.Selector{All: true})
	if err != nil {
		return err
	}
	targets := make([]string, len(s.board.Columns))
	for i, c := range s.board.Columns {
		targets[i] = c.Target
	}
	newest := board.Newest{}
	for _, c := range chosen {
		a, err := s.Book.Ask(atlas.Model{Name: c.Entry.Type, Type: c.Entry.Type, Task: c.Entry.Task}, targets, nil)
		if err != nil {
			return err
		}
		for _, l := range a.Targets {
			newest.Add(l.Claim)
		}
		s.models = append(s.models, about{Model: entryOf(c.Entry), Answer: answer{Answer: a}, Parameters: parameters(s.Catalog, c.Entry.Type)})
	}
	for i := range s.models {
		m := &s.models[i].Answer
		for _, l := range m.Answer.Targets {
			m.Targets = append(m.Targets, line{l, newest.Newer(l.Claim)})
		}
	}
	return nil
}

func entryOf(e catalog.Entry) entry {
	return entry{e.Type, e.Library, e.Class, e.Task, e.Tasks(), e.Family, e.Families, e.Checkpoint, e.Priority, e.Inputs}
}

func parameters(cat *catalog.Catalog, modelType string) map[string]int64 {
	out := map[string]int64{}
	for _, c := range cat.CheckpointsOf(modelType) {
		out[c.Name] = c.Parameters
	}
	return out
}

// page is the model's, with a plain table for those without JavaScript.
func (a about) page() page {
	p := page{Page: "model", Name: a.Answer.Model, Title: a.Answer.Model, About: "Where " + a.Answer.Model + " runs, with proof."}
	for _, l := range a.Answer.Targets {
		date := ""
		if !l.At.IsZero() {
			date = l.At.Format(time.DateOnly)
		}
		p.Lines = append(p.Lines, plainLine{l.Target, string(l.DType), l.Shown().Word(), string(l.Evidence), clean.Line(why(l.Claim)), board.Tried(l.Claim), date})
	}
	return p
}

// why is why a claim is less than works.
func why(c atlas.Claim) string {
	if c.Verdict != cell.Fails {
		return c.Note
	}
	return strings.TrimSuffix(string(c.Class)+": "+cmp.Or(c.Detail, c.Note), ": ")
}

// data are the scripts that pages load.
func (s *site) data() ([]file, error) {
	findings, err := textOf("Findings", findingsText)
	if err != nil {
		return nil, err
	}
	method, err := textOf("Method", methodText)
	if err != nil {
		return nil, err
	}
	values := map[string]any{"board": s.board, "quality": s.quality(), "findings": findings, "method": method}
	for _, m := range s.models {
		values["model/"+fileName(m.Answer.Model)] = m
	}
	var out []file
	for name, v := range values {
		f, err := script(name, v)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// script is a file of data that a page loads by a script element. Only text and
// numbers are in it, and JSON is a part of JavaScript.
func script(name string, v any) (file, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return file{}, err
	}
	label, err := json.Marshal(name)
	content := append([]byte("assayPut("), label...)
	content = append(append(append(content, ','), text...), ')', ';', '\n')
	return file{"data/" + name + ".js", content}, err
}

// Data are the bytes of one of the data files as JSON, for a server: board,
// quality, findings or method, with the user's own results. Another name is
// fs.ErrNotExist.
func Data(name string, in Input) ([]byte, error) {
	switch name {
	case "board.json":
		b, err := board.Make(board.Input{Catalog: in.Catalog, Book: in.Book, Own: in.Own, Now: in.Now, Assay: in.Assay})
		if err != nil {
			return nil, err
		}
		return json.Marshal(b)
	case "quality.json":
		return json.Marshal((&site{Input: in}).quality())
	case "findings.json":
		return marshalText("Findings", findingsText)
	case "method.json":
		return marshalText("Method", methodText)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func marshalText(title, markdown string) ([]byte, error) {
	t, err := textOf(title, markdown)
	if err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// Server is Data as a server asks for it: own results change, the rest does not.
func Server(cat *catalog.Catalog, book *atlas.Book, assay string) func(name string, own []matrix.Observation, now time.Time) ([]byte, error) {
	return func(name string, own []matrix.Observation, now time.Time) ([]byte, error) {
		return Data(name, Input{Catalog: cat, Book: book, Own: own, Now: now, Assay: assay})
	}
}
