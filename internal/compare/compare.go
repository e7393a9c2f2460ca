// Package compare says what changed between two sets of results: verdicts first
// (works became fails, evidence became weaker, operations moved elsewhere, errors
// grew), then speed with its certainty, then load time, memory and energy.
//
// Results go in as two Sides and come out as one Report, a plain value that the
// printers of internal/report show. Cells are matched by their keys (match.go), of
// each side the newest result of a cell. What may not be compared is refused with
// the field that differs (fields.go), unless the caller said that it may differ. What
// of the context differs and is no reason to refuse is listed.
//
// Speed has two stages (speed.go). A screen picks the cells that seem to have
// changed; a verdict needs a p-value that survives the correction for the number of
// cells, which for a lone change among many only fresh repeats can give: Confirm
// takes them. What was not confirmed is called a candidate and fails nobody.
//
// An empty comparison is never the same as an equal one: Outcome tells the two apart.
package compare

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/measure"
)

// Entry is a result and where it came from.
type Entry struct {
	Result   *cell.Result
	Run      string
	Host     cell.Host // as its run saw it
	Imported bool
}

// Side is one of the two: what the user named, and the results that were meant.
type Side struct {
	Name    string
	Kind    string   // run, name, baseline, file, host, target, version, date
	Entries []Entry  // in any order
	Notes   []string // what is to be said of it, such as lines that could not be read
}

// Options say what may differ.
type Options struct {
	// Across are names of fields that may differ; see Fields.
	Across []string
	// Now is when the comparison is made.
	Now time.Time
	// Stored says that one side was run at another time than the other, so that what
	// the machine did meanwhile is inside the numbers.
	Stored bool
}

// Outcome is what a comparison comes to.
type Outcome string

// The outcomes.
const (
	Same       Outcome = "same"       // nothing that was compared got worse
	Regression Outcome = "regression" // something got worse
	Nothing    Outcome = "nothing"    // there was nothing that could be compared
	Different  Outcome = "different"  // of two settings: which of them is worse is an answer, and no regression
)

// Report is what changed from A to B.
type Report struct {
	Schema      int       `json:"schema"`
	GeneratedAt time.Time `json:"generated_at"`
	A           Summary   `json:"a"`
	B           Summary   `json:"b"`
	Outcome     Outcome   `json:"outcome"`
	Compared    int       `json:"compared"` // cells
	Across      []string  `json:"across"`

	Turns   []Turn    `json:"turns"` // verdicts, evidence, placement and numerics that are not what they were
	Speed   []Speed   `json:"speed"`
	Changes []Change  `json:"changes"` // load time, memory and energy
	Means   []Mean    `json:"means"`
	Context []Differs `json:"context"`
	Refused []Refusal `json:"refused"`
	OnlyA   []Named   `json:"only_a"`
	OnlyB   []Named   `json:"only_b"`
	Footer  Footer    `json:"footer"`
	Notes   []string  `json:"notes"`
}

// Summary says what a side was.
type Summary struct {
	Name  string      `json:"name"`
	Kind  string      `json:"kind"`
	Runs  []string    `json:"runs"`
	Cells int         `json:"cells"`
	Hosts []cell.Host `json:"hosts"`
	From  time.Time   `json:"from"` // the first of its results that count
	To    time.Time   `json:"to"`
}

// Named is a cell as people call it, with what is otherwise on side b.
type Named struct {
	Model     string   `json:"model"`
	ModelB    string   `json:"model_b,omitempty"`
	Family    string   `json:"family,omitempty"`
	Target    string   `json:"target"`
	TargetB   string   `json:"target_b,omitempty"`
	Platform  string   `json:"platform"`
	PlatformB string   `json:"platform_b,omitempty"`
	DType     string   `json:"dtype"`
	DTypeB    string   `json:"dtype_b,omitempty"`
	Settings  []string `json:"settings,omitempty"` // beside the usual ones
	SettingsB []string `json:"settings_b,omitempty"`
}

// Compare says what changed from a to b.
func Compare(a, b Side, o Options) Report {
	m := match(a, b, o)
	o.Stored = o.Stored && !oneRun(m.pairs)
	r := OfPairs(m.pairs, o)
	r.A, r.B = summary(a, m.a), summary(b, m.b)
	r.OnlyA, r.OnlyB = m.onlyA, m.onlyB
	r.Footer.Machine = machineOf(r.A.Hosts, r.B.Hosts)
	if n := themselves(m.pairs); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d cells have one and the same result on both sides, as the newest of each: what is compared with itself cannot differ", n, len(m.pairs)))
	}
	r.Notes = append(r.Notes, slices.Concat(mixed(a, o), mixed(b, o), a.Notes, b.Notes)...)
	return r
}

// oneRun reports whether all pairs are the two sides of a run, whose repeats were
// interleaved.
func oneRun(pairs []Pair) bool {
	return len(pairs) > 0 && !slices.ContainsFunc(pairs, func(p Pair) bool {
		return p.A.Run == "" || p.A.Run != p.B.Run || p.A.Result.Side == "" || p.B.Result.Side == "" || p.A.Result.Side == p.B.Result.Side
	})
}

// themselves is how many pairs are of one result.
func themselves(pairs []Pair) (n int) {
	for _, p := range pairs {
		a, b := p.A, p.B
		if a.Run != "" && a.Run == b.Run && a.Result.Side == b.Result.Side && a.Result.Cell == b.Result.Cell && a.Result.StartedAt.Equal(b.Result.StartedAt) {
			n++
		}
	}
	return n
}

// OfPairs compares results that belong together, whatever their cells are.
func OfPairs(pairs []Pair, o Options) Report {
	r := Report{
		Schema: cell.Schema, GeneratedAt: o.Now, Across: append([]string{}, o.Across...), Turns: []Turn{}, Changes: []Change{}, Refused: []Refusal{},
		OnlyA: []Named{}, OnlyB: []Named{}, Notes: []string{},
	}
	var compared, speeds []Pair
	var broke, absent, coarse, timed int
	for _, p := range pairs {
		if f := p.differing(o, stopsAll); f != nil {
			r.Refused = append(r.Refused, Refusal{p.named(), *f, "nothing of it is compared"})
			continue
		}
		if p.broke() {
			broke++
			continue
		}
		if p.absent() {
			absent++
			continue
		}
		compared = append(compared, p)
		r.Turns = append(r.Turns, turns(p)...)
		if !p.timed() {
			continue
		}
		timed++
		if f := p.differing(o, stopsNumbers); f != nil {
			r.Refused = append(r.Refused, Refusal{p.named(), *f, "its numbers are not compared"})
			continue
		}
		r.Changes = append(r.Changes, changes(p)...)
		if !p.measurable() {
			coarse++
			continue
		}
		speeds = append(speeds, p)
	}
	r.Compared = len(compared)
	r.Speed = speed(speeds)
	r.Means = means(r.Speed)
	r.Context = contexts(compared, o)
	r.Footer = footer(r.Speed, o)
	r.note(broke, "not compared: a side's machine broke, which says nothing about the model")
	r.note(absent, "not compared: neither side could run it")
	r.note(coarse, "not compared by speed: the time of a repeat is missing or zero")
	r.sort()
	r.judge(timed)
	return r
}

// note says what some cells are.
func (r *Report) note(cells int, what string) {
	switch cells {
	case 0:
	case 1:
		r.Notes = append(r.Notes, "1 cell is "+what)
	default:
		r.Notes = append(r.Notes, fmt.Sprintf("%d cells are %s", cells, what))
	}
}

// judge sets the outcome. Where both sides hold times and none could be compared,
// what was asked was not answered.
func (r *Report) judge(timed int) {
	worse := slices.ContainsFunc(r.Turns, func(t Turn) bool { return t.Worse }) ||
		slices.ContainsFunc(r.Speed, func(s Speed) bool { return s.Verdict == Slower })
	switch {
	case worse:
		r.Outcome = Regression
	case r.Compared == 0 || timed > 0 && len(r.Speed) == 0:
		r.Outcome = Nothing
	default:
		r.Outcome = Same
	}
}

// broke reports whether a side says nothing about the model, because its machine broke.
func (p Pair) broke() bool {
	return slices.ContainsFunc([]*cell.Result{p.A.Result, p.B.Result}, func(r *cell.Result) bool { return r.Broke() || r.Verdict == cell.Unknown })
}

// absent reports whether neither side could run it.
func (p Pair) absent() bool {
	return p.A.Result.Verdict == cell.Unavailable && p.B.Result.Verdict == cell.Unavailable
}

// timed reports whether both sides have times that count.
func (p Pair) timed() bool { return times(p.A.Result) && times(p.B.Result) }

// measurable reports whether every repeat of both sides has a time. One of zero is a
// clock's that is too coarse, and has no ratio to anything.
func (p Pair) measurable() bool {
	for _, r := range []*cell.Result{p.A.Result, p.B.Result} {
		medians := measure.Medians(r.Latency.SamplesMS)
		if len(medians) == 0 || slices.Min(medians) <= 0 {
			return false
		}
	}
	return true
}

func times(r *cell.Result) bool {
	return r.Latency != nil && r.Evidence == cell.Measured && r.Timing != cell.Functional && r.Timing != ""
}
