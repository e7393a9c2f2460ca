package cell

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Law is what was found of one law that a right model obeys: a property of the
// model's own code, whatever it runs on.
type Law struct {
	Name      string          `json:"law"`
	Status    LawStatus       `json:"status"`
	MaxRel    *float64        `json:"max_rel,omitempty"` // of the largest output; nil where nothing was compared
	Tolerance *float64        `json:"tolerance,omitempty"`
	Output    string          `json:"output,omitempty"`
	Sample    json.RawMessage `json:"sample,omitempty"` // the shortest input that shows it
	Why       string          `json:"why,omitempty"`
	Script    string          `json:"script,omitempty"` // shows it without Assay; where it was asked for
}

// LawStatus is whether a law holds.
type LawStatus string

// The states of a law.
const (
	LawHolds         LawStatus = "holds"
	LawBroken        LawStatus = "broken"
	LawNotApplicable LawStatus = "not-applicable"
	LawUnknown       LawStatus = "unknown"
)

// Finding is a broken law in words.
func (l Law) Finding() string {
	text := "it breaks the law of " + l.Name
	if l.MaxRel != nil {
		text += fmt.Sprintf(": %s differs by %.2g of its largest value", orOutput(l.Output), *l.MaxRel)
	}
	if l.Why != "" {
		text += " (" + l.Why + ")"
	}
	return text
}

func orOutput(name string) string {
	if name == "" {
		return "an output"
	}
	return name
}

// Broken are the laws that a result's model breaks.
func (r Result) Broken() []Law {
	return slices.DeleteFunc(slices.Clone(r.Laws), func(l Law) bool { return l.Status != LawBroken })
}

// LawTally counts laws over results, by their state.
type LawTally struct {
	Models        int // that were asked
	Holds         int
	Broken        int
	NotApplicable int
	Unknown       int
	Types         []string // that break one
}

// Add counts the laws of one more result.
func (t *LawTally) Add(r Result) {
	if len(r.Laws) == 0 {
		return
	}
	t.Models++
	for _, l := range r.Laws {
		switch l.Status {
		case LawHolds:
			t.Holds++
		case LawBroken:
			t.Broken++
			if !slices.Contains(t.Types, r.Cell.Type) {
				t.Types = append(t.Types, r.Cell.Type)
			}
		case LawNotApplicable:
			t.NotApplicable++
		case LawUnknown:
			t.Unknown++
		}
	}
}

// String is the tally in a line.
func (t LawTally) String() string {
	text := fmt.Sprintf("laws of %s: %d held, %d broken, %d not applicable", number(t.Models, "model", "models"), t.Holds, t.Broken, t.NotApplicable)
	if t.Unknown > 0 {
		text += fmt.Sprintf(", %d not tried", t.Unknown)
	}
	if len(t.Types) > 0 {
		text += "; broken by " + strings.Join(t.Types, ", ")
	}
	return text
}
