// Package board is a matrix small enough to be sent whole: every type of the
// catalogue on every target, what is known of each, and the numbers that were
// measured, as short lists of codes. A page filters, sorts and draws it without
// asking anybody again.
//
// Make folds it: the claims of the atlas and the user's own results, by the rules
// of atlas.Ask, and the numbers of own results by those of matrix.Fold. A static
// site has no own results, a dashboard has both; the page that shows them is one.
//
// What many cells share (versions, reasons) stands in lists of the board once,
// and a cell has places in them, counted from one; zero is none. stale.go says
// which cells are older than the engine that others ran with.
package board

import (
	"encoding/json"
	"slices"
	"time"

	"assay/internal/atlas"
	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// Schema is the version of the JSON.
const Schema = 1

// Days is after how many days a cell is stale; the page counts them, since a
// page is read later than it is made.
const Days = 30

// Least is the share of a column's cells that must have an answer before shares
// of it may be shown.
const Least = 0.9

// Board is a whole matrix.
type Board struct {
	Schema       int       `json:"schema"`
	MadeAt       time.Time `json:"made_at"`
	Assay        string    `json:"assay"` // version
	Transformers string    `json:"transformers"`
	StaleDays    int       `json:"stale_days"`
	Least        float64   `json:"least"`
	Own          int       `json:"own"` // results of the user's own
	Columns      []Column  `json:"columns"`
	// The words that cells name by their places.
	Verdicts  []string `json:"verdicts"`
	Evidences []string `json:"evidences"`
	DTypes    []string `json:"dtypes"`
	Families  []string `json:"families"`
	Versions  []string `json:"versions"`
	Words     []string `json:"words"` // classes of failures, conditions, reasons of what is unknown
	Rows      []Row    `json:"rows"`
}

// Column is a target.
type Column struct {
	Target   string        `json:"target"`
	Platform platform.Name `json:"platform"`
	Name     string        `json:"name"`
	Vendor   string        `json:"vendor"`
	Also     []string      `json:"also,omitempty"` // words that people search it by
}

// Row is a model.
type Row struct {
	Model    string   `json:"m"`
	Type     string   `json:"t,omitempty"` // of a checkpoint
	Family   int      `json:"f"`
	Task     string   `json:"k,omitempty"`
	Priority string   `json:"p,omitempty"`
	Also     []string `json:"a,omitempty"` // checkpoints, which are searched too
	Cells    []Cell   `json:"c"`
}

// The flags of a cell.
const (
	Own         = 1 << iota // the user's own result
	Imported                // a result that the user imported
	Newer                   // others ran with a newer engine
	Contradicts             // it contradicts the atlas
)

// Cell is what is known of a model on a target: codes, written as a list that
// ends where only zeros would follow.
type Cell struct {
	Verdict  int // place in Verdicts
	Evidence int
	DType    int
	Day      int // since 1970
	With     int // place in Versions
	Word     int // place in Words
	Flags    int
	Numbers  *Numbers
}

// Numbers are those of own results that were timed.
type Numbers struct {
	LatencyMS float64 `json:"l,omitempty"`
	Speedup   float64 `json:"s,omitempty"`
	Bytes     int64   `json:"b,omitempty"`
	LoadS     float64 `json:"o,omitempty"`
	Unstable  bool    `json:"u,omitempty"`  // the latency is
	Shaky     bool    `json:"su,omitempty"` // a time that the speed-up is made of is
}

// MarshalJSON writes the list.
func (c Cell) MarshalJSON() ([]byte, error) {
	codes := []int{c.Verdict, c.Evidence, c.DType, c.Day, c.With, c.Word, c.Flags}
	if c.Numbers != nil {
		return json.Marshal([]any{c.Verdict, c.Evidence, c.DType, c.Day, c.With, c.Word, c.Flags, c.Numbers})
	}
	for len(codes) > 0 && codes[len(codes)-1] == 0 {
		codes = codes[:len(codes)-1]
	}
	return json.Marshal(codes)
}

// Verdicts are those that a cell can have, as people are shown them.
func Verdicts() []cell.Verdict {
	return []cell.Verdict{cell.Works, cell.Partial, cell.ShouldWork, cell.ShouldWorkPartly, cell.Fails, cell.Unavailable, cell.Unknown, matrix.NotRun}
}

// Evidences are the kinds of it, the strongest first.
func Evidences() []cell.Evidence {
	return []cell.Evidence{cell.Measured, cell.Emulated, cell.Compiled, cell.Derived, cell.Predicted, cell.None}
}

// places gives words their places.
type places struct {
	words []string
	at    map[string]int
}

func (p *places) of(word string) int {
	if word == "" {
		return 0
	}
	if p.at == nil {
		p.at = map[string]int{}
	}
	if p.at[word] == 0 {
		p.words = append(p.words, word)
		p.at[word] = len(p.words)
	}
	return p.at[word]
}

func (p *places) list() []string {
	if p.words == nil {
		return []string{}
	}
	return p.words
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// code is the place of a word, counted from one.
func code[T ~string](list []T, v T) int { return slices.Index(list, v) + 1 }

// Tried are the versions that matter most on a claim's target, and its device.
func Tried(c atlas.Claim) string {
	if !c.Known() {
		return ""
	}
	text := ""
	for _, name := range append(engineOf(c.Target), "transformers", "device") {
		v := c.Versions[name]
		if v == "" {
			continue
		}
		if text != "" {
			text += ", "
		}
		switch name {
		case "device":
			text += v
		case "browser":
			text += browserText(v)
		default:
			text += name + " " + v
		}
	}
	return text
}
