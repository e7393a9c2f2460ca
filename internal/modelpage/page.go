// Package modelpage is everything known about one model, on one page: what
// the catalogue says, what is derived about it (package facts), and what ran
// where (results of the store). Each part may be missing, and then the page
// says why and what to do.
//
// A Page is a value in the JSON vocabulary of the program; text.go prints it
// for people.
package modelpage

import (
	"encoding/json"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/facts"
	"assay/internal/matrix"
)

// Page is one model.
type Page struct {
	Schema      int                  `json:"schema"`
	Model       catalog.Row          `json:"model"`
	Heads       []catalog.Head       `json:"heads"`
	Checkpoints []catalog.Checkpoint `json:"checkpoints"`
	Note        string               `json:"note,omitempty"`

	// Size, Task and Checkpoint say which of the type's models the rest is about.
	Size       string `json:"size"`
	Task       string `json:"task"`
	Checkpoint string `json:"checkpoint,omitempty"`

	Recipe   json.RawMessage `json:"recipe"` // null where there is none
	NoRecipe string          `json:"no_recipe,omitempty"`
	Facts    *facts.Sheet    `json:"facts"` // null where nothing was derived
	NoFacts  string          `json:"no_facts,omitempty"`
	// Deriving says that who asks again soon has the facts.
	Deriving bool   `json:"deriving,omitempty"`
	Ran      []Ran  `json:"ran"` // newest of each setting
	NoRan    string `json:"no_ran,omitempty"`
	// Atlas is what was published of the type, tiny, on platforms where nothing of it ran here.
	Atlas []matrix.Published `json:"atlas"`
}

// Ran is what is known about the model on one platform with one setting.
type Ran struct {
	Platform   string            `json:"platform"`
	Target     string            `json:"target"` // platform, device, engine and browser
	Size       string            `json:"size"`
	DType      string            `json:"dtype"`
	Task       string            `json:"task,omitempty"`
	Checkpoint string            `json:"checkpoint,omitempty"`
	Beside     []string          `json:"settings,omitempty"` // other than the usual ones: "mode generate"
	Verdict    cell.Verdict      `json:"verdict"`
	Evidence   cell.Evidence     `json:"evidence"`
	Imported   bool              `json:"imported,omitempty"` // it did not run here
	Class      cell.FailureClass `json:"class,omitempty"`
	Why        string            `json:"why,omitempty"`
	Versions   map[string]string `json:"versions,omitempty"`
	StartedAt  *time.Time        `json:"started_at"`
}

// Latest is the newest of each cell, whatever its batch, input size, weights
// and threads; what was imported stands apart. Results come newest first.
func Latest(results []matrix.Observation) []Ran {
	out := []Ran{}
	type setting struct {
		cell.Key
		imported bool
	}
	seen := map[setting]bool{}
	for _, r := range results {
		key := setting{r.Cell.Key(cell.AnyCheckpointIfTiny, cell.AnyBatch, cell.AnyInput, cell.AnyWeights, cell.AnyThreads), r.Imported}
		if !seen[key] {
			seen[key] = true
			ran := ranOf(r.Result)
			ran.Imported = r.Imported
			out = append(out, ran)
		}
	}
	return out
}

func ranOf(r cell.Result) Ran {
	c := r.Cell.Normal()
	plain := c
	plain.Batch, plain.Seq, plain.Image = 1, 0, 0
	ran := Ran{
		Platform: string(c.Platform), Target: c.Target, Beside: plain.Beside(), Size: c.Size, DType: string(c.DType), Task: c.Task, Checkpoint: c.Checkpoint,
		Verdict: r.Verdict, Evidence: r.Evidence, Why: r.Note, Versions: r.Context.Versions,
	}
	if c.Size == cell.Tiny {
		ran.Checkpoint = "" // a tiny result is the type's
	}
	if r.Failure != nil {
		ran.Class, ran.Why = r.Failure.Class, r.Failure.Detail
	}
	if !r.StartedAt.IsZero() {
		ran.StartedAt = &r.StartedAt
	}
	return ran
}

// recipe is what the page shows of one.
type recipe struct {
	Inputs []struct {
		Name  string `json:"name"`
		DType string `json:"dtype"`
		Shape []any  `json:"shape"`
	} `json:"inputs"`
	Sizes   map[string]int `json:"sizes"`
	Control *struct {
		Kind   string   `json:"kind"`
		Effect *float64 `json:"effect"`
	} `json:"control"`
	Gain       float64 `json:"gain"`
	Parameters int64   `json:"parameters"`
}

// read is the recipe, as far as the page shows it.
func (p Page) read() (recipe, bool) {
	var r recipe
	if p.Recipe == nil || json.Unmarshal(p.Recipe, &r) != nil {
		return r, false
	}
	return r, true
}
