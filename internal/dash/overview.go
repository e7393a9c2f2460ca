package dash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/live"
	"assay/internal/matrix"
)

// Overview answers "what changed".
type Overview struct {
	Schema  int       `json:"schema"`
	Now     time.Time `json:"now"` // when it was made
	Results int       `json:"results"`
	Runs    int       `json:"runs"`
	Hosts   int       `json:"hosts"`
	Models  int       `json:"models"` // types and checkpoints with a result
	// Changes are ten at most, the most important first, of ChangesTotal. Compared is
	// how many cells have a result to compare their newest with.
	Changes      []ChangeRow `json:"changes"`
	ChangesTotal int         `json:"changes_total"`
	Compared     int         `json:"compared"`
	Coverage     []Covered   `json:"coverage"`
	Recent       []Run       `json:"recent"`
	Stale        Stale       `json:"stale"`
}

// ChangeRow is a cell whose newest result is not what the one before it was.
type ChangeRow struct {
	Kind   string   `json:"kind"` // broken, slower, fixed, faster, first, …
	Worse  bool     `json:"worse"`
	Model  string   `json:"model"`
	Type   string   `json:"type"`
	Target string   `json:"target"`
	DType  string   `json:"dtype"`
	Size   string   `json:"size"`
	Host   string   `json:"host"`
	Before *Moment  `json:"before"` // null where it is the first
	After  Moment   `json:"after"`
	Ratio  *float64 `json:"ratio,omitempty"` // of times: above 1 is slower
	Lo     *float64 `json:"lo,omitempty"`
	Hi     *float64 `json:"hi,omitempty"`
	P      *float64 `json:"p,omitempty"`
	Why    string   `json:"why,omitempty"`
}

// Moment is a result of a cell.
type Moment struct {
	Result   string        `json:"result"` // its id
	Run      string        `json:"run"`
	At       time.Time     `json:"at"`
	Verdict  cell.Verdict  `json:"verdict"`
	Evidence cell.Evidence `json:"evidence"`
	MedianMS *float64      `json:"median_ms,omitempty"`
}

// Covered is how many models run on a target, of how many there are. A share is
// shown only where at least nine tenths of the models were tried.
type Covered struct {
	matrix.Coverage
	Planned  int    `json:"planned"` // models of the catalogue
	Complete bool   `json:"complete"`
	Text     string `json:"text,omitempty"` // "incomplete, 13 of 781"
}

// Stale counts cells whose newest result is older than thirty days.
type Stale struct {
	Cells int `json:"cells"`
	Of    int `json:"of"`
	Days  int `json:"days"`
}

// The rules of the overview.
const (
	mostChanges = 10
	staleDays   = 30
	completeAt  = 0.9
)

func (s *Server) overview(_ context.Context, snap *snapshot, _ *struct{}) (*Overview, error) {
	now := s.o.Now().UTC()
	o := &Overview{
		Schema: cell.Schema, Now: now, Results: len(snap.results), Runs: len(snap.runs), Hosts: len(snap.hosts),
		Coverage: []Covered{}, Recent: append([]Run{}, snap.runs[:min(len(snap.runs), mostChanges)]...),
	}
	models := map[string]bool{}
	for _, x := range snap.results {
		models[x.Result.Cell.Model()] = true
	}
	o.Models = len(models)
	lasts := snap.lasts()
	all := changes(snap, lasts)
	o.ChangesTotal, o.Changes = len(all), all[:min(len(all), mostChanges)]
	o.Stale = Stale{Of: len(lasts), Days: staleDays}
	for _, l := range lasts {
		if l.before >= 0 {
			o.Compared++
		}
		if now.Sub(snap.results[l.newest].Result.StartedAt) > staleDays*24*time.Hour {
			o.Stale.Cells++
		}
	}
	o.Coverage = s.covered(snap)
	return o, nil
}

// all are the models of the catalogue that --all means.
func (s *Server) all() []catalog.Choice {
	list, err := s.o.Catalog.Select(catalog.Selector{All: true})
	if err != nil {
		return nil // all can always be chosen
	}
	return list
}

// covered are the coverages with how many models there are.
func (s *Server) covered(snap *snapshot) []Covered {
	planned := len(s.all())
	out := []Covered{}
	for _, c := range matrix.Coverages(matrix.OfModels(snap.observations())) {
		x := Covered{Coverage: c, Planned: planned, Complete: float64(c.Models) >= completeAt*float64(planned)}
		if !x.Complete {
			x.Text = fmt.Sprintf("incomplete, %d of %d", c.Models, planned)
			x.WholeShare, x.RunShare = nil, nil
		}
		out = append(out, x)
	}
	return out
}

// last are the two newest results of a cell on a machine, as places in a snapshot;
// before is -1 where there is one only.
type last struct{ newest, before int }

// lasts are the newest results of each cell.
func (s *snapshot) lasts() []last {
	type place struct {
		key     cell.Key
		machine string
		timed   bool
	}
	machines := map[string]string{}
	for _, r := range s.runs {
		machines[r.ID] = r.Host.MachineKey()
	}
	at := map[place]int{}
	out := []last{}
	for i, x := range s.results { // newest first
		if x.Result.Cell.Type == "noop" || x.Result.Broke() || x.Result.Side != "" {
			continue
		}
		p := place{x.Result.Cell.Key(cell.AnyCheckpointIfTiny), machines[x.Run], x.Result.Latency != nil}
		j, seen := at[p]
		switch {
		case !seen:
			at[p] = len(out)
			out = append(out, last{i, -1})
		case out[j].before < 0:
			out[j].before = i
		}
	}
	return out
}

// changes are all cells that are not what they were, the most important first.
func changes(s *snapshot, lasts []last) []ChangeRow {
	out := []ChangeRow{}
	pairs := map[string][]compare.Pair{} // by machine: speeds are corrected for their number there
	places := map[*cell.Result]last{}
	for _, l := range lasts {
		if l.before < 0 {
			c := changed("first", s, l)
			c.Why = wrong(s.results[l.newest].Result)
			out = append(out, c)
			continue
		}
		e := s.entries([]Stored{s.results[l.before], s.results[l.newest]})
		places[e[1].Result] = l
		machine := e[1].Host.MachineKey()
		pairs[machine] = append(pairs[machine], compare.Pair{A: e[0], B: e[1]})
	}
	for _, of := range pairs {
		out = append(out, turned(s, of, places)...)
	}
	slices.SortStableFunc(out, func(a, b ChangeRow) int {
		return cmp.Or(importance(a)-importance(b), b.After.At.Compare(a.After.At), strings.Compare(a.Model+a.Target, b.Model+b.Target))
	})
	return out
}

// wrong says why a result does not work, or not wholly; "" where nothing is wrong.
func wrong(r cell.Result) string {
	if r.Failure != nil {
		return string(r.Failure.Class) + ": " + r.Failure.Detail
	}
	if r.Verdict == cell.Partial {
		return r.Note
	}
	return ""
}

// turned are the pairs of one machine that differ.
func turned(s *snapshot, pairs []compare.Pair, places map[*cell.Result]last) []ChangeRow {
	byName := map[string]last{}
	for _, p := range pairs {
		name := compare.Name(p.B.Result.Cell).String()
		byName[name+"\x00"+p.B.Run] = places[p.B.Result]
		if p.B.Result.Latency != nil { // speeds are of those that were timed, whatever was checked since
			byName[name] = places[p.B.Result]
		}
	}
	r := compare.OfPairs(pairs, compare.Options{Stored: true})
	var out []ChangeRow
	for _, t := range r.Turns {
		c := changed(string(t.Kind), s, byName[t.Cell.String()+"\x00"+t.RunB])
		c.Worse, c.Why = t.Worse, t.Detail
		out = append(out, c)
	}
	for _, v := range r.Speed {
		if v.Verdict != compare.Slower && v.Verdict != compare.Faster {
			continue
		}
		c := changed(string(v.Verdict), s, byName[v.Cell.String()])
		c.Worse, c.Ratio, c.Lo, c.Hi, c.P = v.Verdict == compare.Slower, &v.Ratio, v.Lo, v.Hi, v.Adjusted
		out = append(out, c)
	}
	return out
}

// importance orders changes: what got worse, what got better, what is new.
func importance(c ChangeRow) int {
	switch {
	case c.Worse:
		return 0
	case c.Before != nil:
		return 1
	case c.After.Verdict == cell.Unavailable: // nothing ran
		return 3
	}
	return 2
}

func changed(kind string, s *snapshot, l last) ChangeRow {
	x := s.results[l.newest]
	c := x.Result.Cell
	out := ChangeRow{Kind: kind, Model: matrixName(c), Type: c.Type, Target: c.Target, DType: string(c.DType), Size: c.Size, Host: x.Host, After: moment(x)}
	if l.before >= 0 {
		before := moment(s.results[l.before])
		out.Before = &before
	}
	return out
}

// matrixName is the name of the row that a cell's results are in.
func matrixName(c cell.Cell) string {
	m := matrix.ModelOf(c)
	return cmp.Or(m.Checkpoint, m.Type)
}

func moment(x Stored) Moment {
	m := Moment{Result: x.ID, Run: x.Run, At: x.Result.StartedAt, Verdict: x.Result.Verdict, Evidence: x.Result.Evidence}
	if l := x.Result.Latency; l != nil {
		m.MedianMS = &l.MedianMS
	}
	return m
}

// InProgress is a run that is not over.
type InProgress struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	StartedAt time.Time   `json:"started_at"`
	Live      live.Status `json:"live"`
}
