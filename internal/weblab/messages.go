package weblab

import (
	"assay/internal/cell"
	"assay/internal/progress"
)

// What a guest's page and the lab say to each other: JSON objects, told apart
// by kind.

// said is what a page may say. Which fields count depends on the kind.
type said struct {
	Kind    string      `json:"kind"` // hello, run, stop
	About   About       `json:"about"`
	Models  []int       `json:"models"`  // of a run: places in the offer
	Targets []string    `json:"targets"` // of a run
	Timing  cell.Timing `json:"timing"`  // of a run
}

// The messages to a page. Each says its kind.
type (
	// ask has the page open the probe in a frame.
	ask struct {
		Kind string `json:"kind"`
		Path string `json:"path"`
	}
	// open has the page open a runner page in a fresh frame, and shut remove it.
	open struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Path string `json:"path"`
	}
	shut struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
	}
	// lent says that the page's browser works for others, with what it has.
	lent struct {
		Kind    string   `json:"kind"`
		Machine string   `json:"machine"`
		Browser string   `json:"browser"`
		To      string   `json:"to"`
		Targets []string `json:"targets"`
	}
	// planned begins a run, and done ends it: with an error, or because it was
	// stopped, or with neither.
	planned struct {
		Kind  string `json:"kind"`
		Cells int    `json:"cells"`
	}
	done struct {
		Kind    string `json:"kind"`
		Stopped bool   `json:"stopped"`
		Error   string `json:"error,omitempty"`
	}
	started struct {
		Kind   string `json:"kind"`
		Model  string `json:"model"`
		Target string `json:"target"`
	}
	// note is a sentence for the user.
	note struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	}
	// refusal answers what cannot be done, with a sentence.
	refusal struct {
		Kind  string `json:"kind"`
		Error string `json:"error"`
	}
)

// messageOf is an event as the page is told it; nil for one that pages do not know.
func messageOf(e progress.Event) any {
	switch e.Kind {
	case progress.KindPlanned:
		return planned{"planned", e.Cells}
	case progress.KindStarted:
		return started{"started", e.Cell.Model(), e.Cell.Target}
	case progress.KindFinished:
		return rowOf(*e.Result)
	case progress.KindNote:
		return note{"note", e.Text}
	}
	return nil
}

// row is a finished cell as the page shows it.
type row struct {
	Kind     string        `json:"kind"`
	Model    string        `json:"model"`
	Size     string        `json:"size"`
	Weights  string        `json:"weights"`
	Target   string        `json:"target"`
	Verdict  cell.Verdict  `json:"verdict"` // as people are shown it
	Word     string        `json:"word"`    // the verdict in a sentence
	Evidence cell.Evidence `json:"evidence"`
	Note     string        `json:"note,omitempty"`
	Failure  *cell.Failure `json:"failure"` // without its log
	MaxRel   *float64      `json:"max_rel"`
	Median   *float64      `json:"median_ms"` // and its interval, of a timed cell
	Lo       *float64      `json:"lo_ms"`
	Hi       *float64      `json:"hi_ms"`
	P95      *float64      `json:"p95_ms"`
	Hidden   string        `json:"hidden,omitempty"` // why a time that was taken out of view is not to be relied on
}

func rowOf(r cell.Result) row {
	out := row{
		Kind: "finished", Model: r.Cell.Model(), Size: r.Cell.Size, Weights: r.Cell.Weights, Target: r.Cell.Target,
		Verdict: r.Shown(), Word: r.Shown().Word(), Evidence: r.Evidence, Note: r.Note,
	}
	if f := r.Failure; f != nil {
		out.Failure = &cell.Failure{Class: f.Class, Detail: f.Detail, Hint: f.Hint}
	}
	if r.Numerics != nil {
		out.MaxRel = r.Numerics.MaxRel
	}
	if t := r.Latency; t != nil {
		out.Median, out.Lo, out.Hi, out.P95 = &t.MedianMS, t.LoMS, t.HiMS, t.P95MS
		if t.Hidden {
			out.Hidden = t.Why
		}
	}
	return out
}
