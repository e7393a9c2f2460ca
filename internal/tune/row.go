package tune

import (
	"fmt"

	"assay/internal/cell"
)

// The questions.
const (
	WarmStart    = "warm start"
	ParallelLoad = "parallel load"
	Workgroup    = "workgroup size"
	OwnKernel    = "own kernel"
)

// Schema is the version of reports and books.
const Schema = 1

// Report is what a tuning found.
type Report struct {
	Schema   int                `json:"schema"`
	Settings map[string]Setting `json:"settings"` // by target
	Rows     []Row              `json:"rows"`
}

// NewReport is a report in which nothing is answered yet.
func NewReport() Report {
	return Report{Schema: Schema, Settings: map[string]Setting{}, Rows: []Row{}}
}

// Row is one question and its answer.
type Row struct {
	What     string        `json:"what"`
	Subject  string        `json:"subject"` // the model or kernel
	Target   string        `json:"target"`
	Measure  string        `json:"measure"` // what the milliseconds are of
	A        Way           `json:"a"`
	B        Way           `json:"b"`
	Repeats  int           `json:"repeats"`
	Ratio    *float64      `json:"ratio"` // of the medians, b over a
	Lo       *float64      `json:"lo"`    // Lo and Hi hold the true ratio; null with too few repeats
	Hi       *float64      `json:"hi"`
	P        *float64      `json:"p"`
	Differs  bool          `json:"differs"`
	Chosen   string        `json:"chosen"`            // the way that is better, or the plainer one where there is no difference; "" when unknown
	Refused  string        `json:"refused,omitempty"` // why the question has no answer
	Evidence cell.Evidence `json:"evidence"`
	Notes    []string      `json:"notes"`
	Warnings []string      `json:"warnings"`
}

// Way is one way of doing a thing.
type Way struct {
	Name      string      `json:"name"`
	MedianMS  *float64    `json:"median_ms"`  // null where nothing was measured
	SamplesMS [][]float64 `json:"samples_ms"` // one list a repeat
}

// settled says which way is chosen: b only where it is shown to be faster.
func (r Row) settled() Row {
	switch {
	case r.Refused != "" || r.Lo == nil:
	case r.Differs && *r.Ratio < 1:
		r.Chosen = r.B.Name
	default:
		r.Chosen = r.A.Name
	}
	r.Notes, r.Warnings = append([]string{}, r.Notes...), append([]string{}, r.Warnings...)
	return r
}

// Verdict is the answer in words.
func (r Row) Verdict() string {
	switch {
	case r.Refused != "":
		return "refused: " + r.Refused
	case r.Lo == nil:
		return "unknown: too few repeats for an interval"
	case !r.Differs:
		return fmt.Sprintf("no difference: %s is kept", r.A.Name)
	case *r.Ratio < 1:
		return fmt.Sprintf("%s is %s × faster", r.B.Name, factor(1 / *r.Ratio))
	}
	return fmt.Sprintf("%s is %s × slower: %s is kept", r.B.Name, factor(*r.Ratio), r.A.Name)
}

func factor(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
