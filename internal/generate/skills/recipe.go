package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/expression"
)

// recipe is what a skill takes of a catalogue's recipe.
type recipe struct {
	Type        string          `json:"type"`
	Class       string          `json:"class"`
	ConfigClass string          `json:"config_class"`
	Module      string          `json:"module"`
	Program     string          `json:"program"`
	Task        string          `json:"task"`
	Config      json.RawMessage `json:"config"`
	Parts       json.RawMessage `json:"parts"`
	Call        json.RawMessage `json:"call"`
	Gain        float64         `json:"gain"`
	Sizes       map[string]int  `json:"sizes"`
	Inputs      []input         `json:"inputs"`
}

// input is a tensor that the model takes, as the recipe makes it.
type input struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	DType    string          `json:"dtype"`
	Shape    []any           `json:"shape"` // numbers, and expressions of sizes
	Low      int             `json:"low"`
	High     int             `json:"high"`
	Value    json.RawMessage `json:"value"`
	PerBatch bool            `json:"per_batch"`
	Place    []mark          `json:"place"`
	Grid     int             `json:"grid"`
}

// mark is an id that stands where the model puts what it perceives.
type mark struct {
	ID    int `json:"id"`
	At    any `json:"at"`
	Count any `json:"count"`
}

// spot is a mark with its numbers worked out: which id, from where, how many.
type spot [3]int

// shaped is an input with its shape for a batch of one worked out.
type shaped struct {
	input
	sides  []int
	places []spot
}

// shapedInputs returns the inputs with their shapes for a batch of one.
func (r recipe) shapedInputs() ([]shaped, error) {
	names := map[string]int{"batch": 1}
	for name, n := range r.Sizes {
		names[name] = n
	}
	out := make([]shaped, 0, len(r.Inputs))
	for _, in := range r.Inputs {
		s := shaped{input: in}
		if err := s.work(names); err != nil {
			return nil, fmt.Errorf("recipe of %s, input %s: %w", r.Type, in.Name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// work computes what the recipe leaves as expressions.
func (s *shaped) work(names map[string]int) error {
	var failed error
	number := func(v any, otherwise int) int {
		if v == nil {
			return otherwise
		}
		n, err := expression.Evaluate(fmt.Sprint(v), names)
		failed = errors.Join(failed, err)
		return n
	}
	for _, side := range s.Shape {
		s.sides = append(s.sides, number(side, 1))
	}
	for _, m := range s.Place {
		s.places = append(s.places, spot{m.ID, number(m.At, 0), number(m.Count, 1)})
	}
	return failed
}

// dividedFirst reports whether the items of a batch lie along the first axis.
func (in input) dividedFirst() bool {
	if in.Kind == "value" {
		return in.PerBatch
	}
	return len(in.Shape) > 0 && strings.Contains(fmt.Sprint(in.Shape[0]), "batch")
}
