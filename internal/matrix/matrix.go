// Package matrix folds results into the compatibility matrix: models down,
// platforms across, and in each square what is known about the one on the other.
//
// A result enters as an Observation, the result and the host it came from. Fold
// sorts observations into squares. A row is a type or a checkpoint: a tiny
// result belongs to the type's row, whatever checkpoint its cell named, because
// it says nothing about the checkpoint's true size. Inside a square the strongest
// evidence speaks, then the largest size, then what ran here before what was
// imported, then the newest result; what the others say is not lost but is shown beside it as conditions ("fp32 only") and
// disagreements. Engines of one platform are settings like dtypes, of which the
// platform's own speaks first; what runs in a browser's processor has its own
// column. Numbers obey stricter rules than verdicts: latencies come
// only from timed runs on the real device, a speed-up only from two such
// runs of the same subject, size, dtype and batch on one host.
//
// Three things that look alike are kept apart: unavailable (the platform was
// asked for and is not there), unknown (it was tried, but the machine broke
// before the model could show anything) and not-run (nobody tried).
//
// The values are plain and serialisable; printing is package report's work.
package matrix

import (
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// The verdicts a square may have beside those of a result.
const (
	NotRun  cell.Verdict = "not-run"    // nobody tried
	Unknown              = cell.Unknown // tried, but the machine broke
)

// Verdicts lists every verdict of a square, in the order in which they are
// counted and explained.
func Verdicts() []cell.Verdict {
	return []cell.Verdict{cell.Works, cell.Partial, cell.Fails, cell.Unavailable, Unknown, NotRun}
}

// Observation is a result and the host it came from.
type Observation struct {
	cell.Result
	Host string `json:"host"` // cell.Host's ID
	// Imported says that it did not run here.
	Imported bool `json:"imported,omitempty"`
}

// Model is a row that is shown even when nobody ran it.
type Model struct {
	Type       string
	Checkpoint string
	Family     string
	Priority   string
}

// Options say what else the matrix shows, and how old a result is.
type Options struct {
	Now    time.Time
	Models []Model
}

// Matrix is models × platforms.
type Matrix struct {
	Platforms []platform.Name `json:"platforms"` // the eight, and Wasm where it was tried
	Rows      []Row           `json:"rows"`      // by family, then model
}

// Row is a model, and one square for each of the matrix's platforms.
type Row struct {
	Model      string   `json:"model"`
	Type       string   `json:"type"`
	Checkpoint string   `json:"checkpoint,omitempty"`
	Family     string   `json:"family"`
	Priority   string   `json:"priority,omitempty"`
	Squares    []Square `json:"squares"`
}

// Square is what is known about one model on one platform. The settings are those
// of the result that speaks; the zero Square with verdict not-run is one that
// nobody ran.
type Square struct {
	Platform platform.Name  `json:"platform"`
	Verdict  cell.Verdict   `json:"verdict"`
	Evidence cell.Evidence  `json:"evidence,omitempty"`
	Target   string         `json:"target,omitempty"`
	Task     string         `json:"task,omitempty"`
	Size     string         `json:"size,omitempty"`
	Weights  string         `json:"weights,omitempty"`
	DType    platform.DType `json:"dtype,omitempty"`
	// Class, Why and Hint say why the verdict is less than works, or carry
	// the warning that belongs beside it.
	Class cell.FailureClass `json:"class,omitempty"`
	Why   string            `json:"why,omitempty"`
	Hint  string            `json:"hint,omitempty"`
	// Conditions narrow the verdict: "fp32 only".
	Conditions string `json:"conditions,omitempty"`
	// Disagreement names the results that say otherwise.
	Disagreement []string          `json:"disagreement,omitempty"`
	Numerics     *cell.Numerics    `json:"numerics,omitempty"`
	Host         string            `json:"host,omitempty"`
	Imported     bool              `json:"imported,omitempty"` // it did not run here
	StartedAt    *time.Time        `json:"started_at,omitempty"`
	AgeS         *float64          `json:"age_s,omitempty"`
	Versions     map[string]string `json:"versions,omitempty"`
	Results      int               `json:"results"` // how many were folded

	Latency *Latency `json:"latency,omitempty"` // from a timed run on the device
	Load    *Load    `json:"load,omitempty"`
	Peak    *Peak    `json:"peak,omitempty"`
	Speedup *Speedup `json:"speedup,omitempty"` // over this host's CPU

	// Atlas is what was published of it, where nobody here ran it; nil otherwise. It
	// counts in no total.
	Atlas *Published `json:"atlas,omitempty"`
}

// Published is what the atlas says of a type on a platform.
type Published struct {
	Target   string            `json:"target"`
	DType    platform.DType    `json:"dtype"`
	Verdict  cell.Verdict      `json:"verdict"`
	Evidence cell.Evidence     `json:"evidence"`
	Class    cell.FailureClass `json:"class,omitempty"`
	Why      string            `json:"why,omitempty"`
	At       time.Time         `json:"at"`
}

// Shown is the verdict as people are shown it.
func (p Published) Shown() cell.Verdict { return cell.Shown(p.Verdict, p.Evidence) }

// Publish puts what was published into the squares of types that nobody here ran.
// Rows of checkpoints stay: the atlas is about types, tiny.
func (m Matrix) Publish(of func(modelType string) map[platform.Name]Published) {
	for _, row := range m.Rows {
		if row.Checkpoint != "" {
			continue
		}
		said := of(row.Type)
		for i, s := range row.Squares {
			if p, ok := said[s.Platform]; ok && s.Verdict == NotRun {
				row.Squares[i].Atlas = &p
			}
		}
	}
}

// Fold folds observations into a matrix. Those that say nothing about a model are left out.
func Fold(observations []Observation, o Options) Matrix {
	observations = OfModels(observations)
	m := Matrix{Platforms: columns(observations)}
	rows := map[string]*Row{}
	byRow := map[string][]Observation{}
	for _, x := range o.Models {
		addRow(rows, x)
	}
	for _, x := range observations {
		key := addRow(rows, ModelOf(x.Cell))
		byRow[key] = append(byRow[key], x)
	}
	for key, row := range rows {
		for _, p := range m.Platforms {
			row.Squares = append(row.Squares, foldSquare(p, byRow[key], o.Now))
		}
		m.Rows = append(m.Rows, *row)
	}
	slices.SortFunc(m.Rows, compareRows)
	return m
}

// ModelsOf is a row for each model of some cells, in their order.
func ModelsOf(cells []cell.Cell) []Model {
	var out []Model
	for _, c := range cells {
		if m := ModelOf(c); !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// ModelOf says whose row a cell's result belongs to.
func ModelOf(c cell.Cell) Model {
	m := Model{Type: c.Type, Family: c.Family}
	if c.Size == cell.Full {
		m.Checkpoint = c.Checkpoint
	}
	return m
}

// addRow makes the model's row if it has none yet, fills in what was missing,
// and returns its key.
func addRow(rows map[string]*Row, m Model) string {
	key := m.Type + "\x00" + m.Checkpoint
	row := rows[key]
	if row == nil {
		row = &Row{Type: m.Type, Checkpoint: m.Checkpoint, Model: m.Type}
		if m.Checkpoint != "" {
			row.Model = m.Checkpoint
		}
		rows[key] = row
	}
	if row.Family == "" {
		row.Family = m.Family
	}
	if row.Priority == "" {
		row.Priority = m.Priority
	}
	return key
}

func compareRows(a, b Row) int {
	if c := familyOrder(a.Family) - familyOrder(b.Family); c != 0 {
		return c
	}
	if c := strings.Compare(a.Type, b.Type); c != 0 {
		return c
	}
	return strings.Compare(a.Checkpoint, b.Checkpoint)
}

func familyOrder(f string) int {
	families := cell.Families()
	if i := slices.Index(families, f); i >= 0 {
		return i
	}
	return len(families)
}
