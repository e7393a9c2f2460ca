package compare

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"assay/internal/cell"
	"assay/internal/measure"
)

// SpeedVerdict is what is known of a cell's speed.
type SpeedVerdict string

// The verdicts on speed.
const (
	Slower    SpeedVerdict = "slower"
	Faster    SpeedVerdict = "faster"
	Candidate SpeedVerdict = "candidate" // seems to have changed; only more repeats can tell
	Refuted   SpeedVerdict = "refuted"   // seemed to have changed, and fresh repeats did not
	Unclear   SpeedVerdict = "unclear"   // differs by less than its repeats vary
	Equal     SpeedVerdict = "same"      // within what counts as a change
	Untold    SpeedVerdict = "unknown"   // too few repeats
)

var speedVerdicts = []SpeedVerdict{Slower, Faster, Candidate, Refuted, Unclear, Equal, Untold}

func (v SpeedVerdict) order() int { return slices.Index(speedVerdicts, v) }

// Speed is a cell's time on both sides.
type Speed struct {
	Cell     Named        `json:"cell"`
	Verdict  SpeedVerdict `json:"verdict"`
	Unit     string       `json:"unit"` // of A and B
	A        float64      `json:"a"`    // median of the repeats' medians
	B        float64      `json:"b"`
	RepeatsA int          `json:"repeats_a"`
	RepeatsB int          `json:"repeats_b"`
	Ratio    float64      `json:"ratio"` // B over A: above 1 is slower
	Lo       *float64     `json:"lo"`    // Lo and Hi hold the true ratio; null with too few repeats
	Hi       *float64     `json:"hi"`
	P        *float64     `json:"p"`        // exact, two-sided
	Adjusted *float64     `json:"adjusted"` // for the number of cells
	// Finds is the smallest change that would have been noticed in four of five
	// tries, as a share; null where the spread is not known.
	Finds    *float64  `json:"finds"`
	First    *Stage    `json:"first,omitempty"` // what the screen saw, where fresh repeats followed
	Warnings []string  `json:"warnings"`
	MediansA []float64 `json:"medians_a"` // of the repeats
	MediansB []float64 `json:"medians_b"`

	pair Pair
}

// key is the cell as side a has it.
func (s Speed) key() cell.Key { return s.pair.A.Result.Cell.Key() }

// Stage is the first of two.
type Stage struct {
	Ratio    float64  `json:"ratio"`
	P        *float64 `json:"p"`
	RepeatsA int      `json:"repeats_a"`
	RepeatsB int      `json:"repeats_b"`
}

// size is how far the ratio is from 1, either way.
func (s Speed) size() float64 { return math.Abs(math.Log(s.Ratio)) }

// speed compares the times of all pairs, and corrects their p-values for the number
// of them.
func speed(pairs []Pair) []Speed {
	out := make([]Speed, len(pairs))
	workers := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for w := range workers { // there may be thousands
		all.Go(func() {
			for i := w; i < len(pairs); i += workers {
				out[i] = pairs[i].speed()
			}
		})
	}
	all.Wait()
	adjust(out, func(s Speed) bool { return s.P != nil })
	for i := range out {
		out[i].decide()
	}
	return out
}

// adjust corrects the p-values of the chosen ones for their number.
func adjust(list []Speed, chosen func(Speed) bool) {
	var at []int
	var ps []float64
	for i, s := range list {
		if chosen(s) {
			at, ps = append(at, i), append(ps, *s.P)
		}
	}
	for i, p := range measure.Adjusted(ps) {
		list[at[i]].Adjusted = &p
	}
}

func (p Pair) speed() Speed {
	a, b := singly(p.A.Result.Latency), singly(p.B.Result.Latency)
	s := Speed{Cell: p.named(), Unit: "ms", Warnings: []string{}, pair: p}
	s.fill(a, b)
	for _, side := range []struct {
		name string
		of   *cell.Result
	}{{"a", p.A.Result}, {"b", p.B.Result}} {
		if l := side.of.Latency; !l.Stable && l.Why != "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("side %s is not stable: %s", side.name, l.Why))
		}
	}
	return s
}

// fill sets what the repeats of both sides say.
func (s *Speed) fill(a, b [][]float64) {
	c, screen := measure.Compare(a, b), measure.Screen(a, b)
	s.A, s.B, s.RepeatsA, s.RepeatsB = c.MedianA, c.MedianB, c.RepeatsA, c.RepeatsB
	s.Ratio, s.Lo, s.Hi, s.P = c.Ratio, c.Lo, c.Hi, c.P
	s.MediansA, s.MediansB = measure.Medians(a), measure.Medians(b)
	s.Finds, s.Verdict = nil, Untold
	if !math.IsInf(screen.Finds, 0) && !math.IsNaN(screen.Finds) {
		s.Finds, s.Verdict = &screen.Finds, Equal
		if s.size() >= math.Log1p(measure.LeastChange) {
			s.Verdict = Unclear
		}
	}
	if screen.Candidate {
		s.Verdict = Candidate
	}
}

// decide gives a candidate its verdict where its p-value allows one.
func (s *Speed) decide() {
	if s.Verdict == Candidate && s.Adjusted != nil && *s.Adjusted <= measure.FalseDiscovery {
		s.Verdict = s.direction()
	}
}

func (s *Speed) direction() SpeedVerdict {
	if s.Ratio > 1 {
		return Slower
	}
	return Faster
}

// singly is each repeat as its median alone.
func singly(l *cell.Latency) [][]float64 {
	var out [][]float64
	for _, m := range measure.Medians(l.SamplesMS) {
		out = append(out, []float64{m})
	}
	return out
}

// Again is a candidate to run again: its cell as each side has it, and the medians
// that are stored of side a.
type Again struct {
	A, B     cell.Cell
	MediansA []float64
}

// Candidates are the cells that seem to have changed, whether or not the first
// stage alone could tell.
func (r Report) Candidates() []Again {
	plain := func(x *cell.Result) cell.Cell {
		c := x.Cell.Key().Cell().Normal()
		c.Family = x.Cell.Family // which keys do not have
		return c
	}
	var out []Again
	for _, s := range r.Speed {
		if slices.Contains([]SpeedVerdict{Slower, Faster, Candidate}, s.Verdict) {
			out = append(out, Again{plain(s.pair.A.Result), plain(s.pair.B.Result), s.MediansA})
		}
	}
	return out
}

// Fresh are repeats that were made to confirm a candidate: medians of each.
type Fresh struct {
	Cell cell.Cell // as side a has it
	A, B [][]float64
	// Now is what the repeats of side b came to; nil where nobody says.
	Now *cell.Result
}

// tells reports whether so many repeats can confirm anything.
func (f Fresh) tells() bool { return measure.LeastP(len(f.A), len(f.B)) <= measure.FalseDiscovery }

// Confirm decides the candidates by fresh repeats, of which the p-values are
// corrected for the number of candidates alone. A candidate without fresh repeats, or
// with too few of them because a side could not go on, stays one.
func (r *Report) Confirm(fresh []Fresh, o Options) {
	byKey := map[cell.Key]Fresh{}
	for _, f := range fresh {
		byKey[f.Cell.Key()] = f
	}
	first := map[int]measure.Comparison{}
	for i := range r.Speed {
		s := &r.Speed[i]
		f, ok := byKey[s.key()]
		if ok {
			r.Turns = append(r.Turns, s.brokeSince(f)...)
		}
		if !ok || !f.tells() {
			if s.Verdict == Slower || s.Verdict == Faster {
				s.Verdict = Candidate
			}
			if ok {
				s.Warnings = append(s.Warnings, fmt.Sprintf("fresh repeats: %d against %d, too few to decide", len(f.A), len(f.B)))
			}
			continue
		}
		first[i] = measure.Comparison{Ratio: s.Ratio}
		s.First = &Stage{s.Ratio, s.P, s.RepeatsA, s.RepeatsB}
		s.fill(f.A, f.B)
		s.Adjusted = nil
	}
	adjust(r.Speed, func(s Speed) bool { return s.First != nil && s.P != nil })
	for i, was := range first {
		s := &r.Speed[i]
		s.Verdict = Refuted
		if s.Adjusted != nil && measure.Confirmed(was, measure.Comparison{Ratio: s.Ratio}, *s.Adjusted) {
			s.Verdict = s.direction()
		}
	}
	r.Means = means(r.Speed)
	r.Footer = footer(r.Speed, o).of(r.Footer.Machine)
	r.Footer.Confirmed = true
	r.sort()
	r.judge(len(r.Speed))
}

// brokeSince is a new failure where side b worked and fails in fresh repeats.
func (s Speed) brokeSince(f Fresh) []Turn {
	if f.Now == nil || f.Now.Verdict != cell.Fails || f.Now.Broke() || s.pair.B.Result.Verdict == cell.Fails {
		return nil
	}
	now := s.pair.B
	now.Result = f.Now
	return turns(Pair{s.pair.A, now})
}

// Mean is the geometric mean of the ratios of some cells.
type Mean struct {
	By    string  `json:"by"` // all, family, platform
	Name  string  `json:"name"`
	Cells int     `json:"cells"`
	Ratio float64 `json:"ratio"`
}

func means(list []Speed) []Mean {
	out := []Mean{}
	type group struct{ by, name string }
	ratios := map[group][]float64{}
	for _, s := range list {
		for _, g := range []group{{"all", ""}, {"family", cmp.Or(s.Cell.Family, "unknown")}, {"platform", to(s.Cell.Platform, s.Cell.PlatformB)}} {
			ratios[g] = append(ratios[g], s.Ratio)
		}
	}
	for g, of := range ratios {
		out = append(out, Mean{g.by, g.name, len(of), measure.GeometricMean(of)})
	}
	slices.SortFunc(out, func(a, b Mean) int { return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Name, b.Name)) })
	return out
}
