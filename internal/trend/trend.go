// Package trend follows the speed of cells over time: for each cell on each machine
// the medians of its runs, and the steps in them, found by measure.Steps.
//
// A Series holds results that may be compared with each other: of one cell, one
// subject, one timing and one machine. A step is told with the two runs between which
// it lies and with what of the context changed there: not why it happened, but where
// to look first.
package trend

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/measure"
)

// Point is one run of a cell.
type Point struct {
	Run      string    `json:"run"`
	At       time.Time `json:"at"`
	MedianMS float64   `json:"median_ms"`
	Repeats  int       `json:"repeats"`
	Unstable bool      `json:"unstable,omitempty"` // its repeats differ too much
}

// Step is a place where the level changed.
type Step struct {
	// After is the last run before it, and Before the first one behind it.
	After    Point             `json:"after"`
	Before   Point             `json:"before"`
	BeforeMS float64           `json:"before_ms"` // levels: medians of the runs on either side
	AfterMS  float64           `json:"after_ms"`
	Ratio    float64           `json:"ratio"`
	Changed  []compare.Differs `json:"changed"` // of the context, between the two runs
}

// Series is a cell's history on one machine.
type Series struct {
	Cell   compare.Named `json:"cell"`
	Host   cell.Host     `json:"host"`
	Timing cell.Timing   `json:"timing"`
	Points []Point       `json:"points"`
	Steps  []Step        `json:"steps"`
}

// group is what a series is the history of.
type group struct {
	key              cell.Key
	machine, subject string
	timing           cell.Timing
}

// Of are the histories in some results, those with steps first, then the longest.
func Of(entries []compare.Entry) []Series {
	groups := map[group][]compare.Entry{}
	for _, e := range entries {
		r := e.Result
		if r.Latency == nil || r.Evidence != cell.Measured || r.Timing == cell.Functional || len(measure.Medians(r.Latency.SamplesMS)) == 0 {
			continue
		}
		g := group{r.Cell.Key(cell.AnyCheckpointIfTiny), e.Host.MachineKey(), r.SubjectHash, r.Timing}
		groups[g] = append(groups[g], e)
	}
	out := []Series{}
	for _, list := range groups {
		out = append(out, series(list))
	}
	slices.SortFunc(out, func(a, b Series) int {
		return cmp.Or(len(b.Steps)-len(a.Steps), len(b.Points)-len(a.Points), strings.Compare(a.Cell.String(), b.Cell.String()), strings.Compare(a.Host.ID, b.Host.ID))
	})
	return out
}

func series(list []compare.Entry) Series {
	slices.SortFunc(list, func(a, b compare.Entry) int {
		return cmp.Or(a.Result.StartedAt.Compare(b.Result.StartedAt), strings.Compare(a.Run, b.Run), strings.Compare(a.Result.Side, b.Result.Side))
	})
	newest := list[len(list)-1]
	s := Series{Cell: compare.Name(newest.Result.Cell), Host: newest.Host, Timing: newest.Result.Timing, Steps: []Step{}}
	var medians []float64
	for _, e := range list {
		m := measure.Medians(e.Result.Latency.SamplesMS)
		p := Point{e.Run, e.Result.StartedAt, measure.Median(m), len(m), !e.Result.Latency.Stable}
		s.Points, medians = append(s.Points, p), append(medians, p.MedianMS)
	}
	for _, step := range measure.Steps(medians) {
		a, b := step.At-1, step.At
		s.Steps = append(s.Steps, Step{
			After: s.Points[a], Before: s.Points[b], BeforeMS: step.Before, AfterMS: step.After, Ratio: step.Ratio,
			Changed: compare.Contexts(list[a], list[b]),
		})
	}
	return s
}
