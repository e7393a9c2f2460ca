package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/input"
)

// ErrUnknown is a file of a kind that Read does not know.
var ErrUnknown = errors.New("it is neither a catalogue, nor what \"assay models --json\", \"assay models export\", \"assay matrix --json\" or \"assay test --json\" print")

// file has the fields by which the formats are told apart.
type file struct {
	Schema       int             `json:"schema"`
	Transformers string          `json:"transformers"`
	Models       []catalog.Row   `json:"models"`   // models --json and models export
	Outcomes     []Outcome       `json:"outcomes"` // models export
	Types        []catalog.Entry `json:"types"`    // a catalogue, as introspection gives it
	Results      json.RawMessage `json:"results"`  // test --json: a list; of a matrix: how many there are
	Matrix       *struct {       // matrix --json and report.json
		Rows []struct {
			Type, Checkpoint string
			Squares          []square
		}
	} `json:"matrix"`
}

type square struct {
	Platform, Target, Size, DType, Task, Why string
	Verdict                                  cell.Verdict
	Evidence                                 cell.Evidence
	Class                                    cell.FailureClass
}

// Read reads a snapshot from any of the files that hold one.
func Read(b []byte) (Snapshot, error) {
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return Snapshot{}, fmt.Errorf("it cannot be parsed: %w", input.InWords(err))
	}
	if f.Schema != cell.Schema {
		return Snapshot{}, fmt.Errorf("it has schema %d and this program reads %d: %w", f.Schema, cell.Schema, ErrUnknown)
	}
	s := Snapshot{Schema: cell.Schema, Transformers: f.Transformers, Types: f.Models, Outcomes: f.Outcomes}
	for _, e := range f.Types {
		s.Types = append(s.Types, e.Row())
	}
	if f.Matrix != nil {
		s.Outcomes = f.squares()
	} else if f.Results != nil {
		var results []cell.Result
		if err := json.Unmarshal(f.Results, &results); err != nil {
			return Snapshot{}, fmt.Errorf("its results cannot be parsed: %w", input.InWords(err))
		}
		s.Outcomes = OfResults(results)
		s.Transformers = releaseOf(results)
	}
	if s.Types == nil && s.Outcomes == nil {
		return Snapshot{}, ErrUnknown
	}
	sortTypes(s.Types)
	sortOutcomes(s.Outcomes)
	return s, nil
}

// squares are a matrix's, without those that nobody ran.
func (f file) squares() []Outcome {
	out := []Outcome{}
	for _, row := range f.Matrix.Rows {
		for _, q := range row.Squares {
			o := Outcome{
				Type: row.Type, Checkpoint: row.Checkpoint, Task: q.Task, Platform: q.Platform, Target: q.Target, Size: q.Size, DType: q.DType,
				Verdict: q.Verdict, Evidence: q.Evidence, Class: q.Class, Detail: q.Why,
			}
			if o.speaks() {
				out = append(out, o)
			}
		}
	}
	return out
}

// releaseOf is the transformers of the results; "" where they differ.
func releaseOf(results []cell.Result) string {
	release := ""
	for _, r := range results {
		v := r.Context.Versions["transformers"]
		if release != "" && v != release {
			return ""
		}
		release = v
	}
	return strings.TrimSpace(release)
}
