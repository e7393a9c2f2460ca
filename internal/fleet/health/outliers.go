package health

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"assay/internal/cell"
	"assay/internal/measure"
)

// Sample is a result and who it is from.
type Sample struct {
	Worker string
	Host   cell.Host
	Result cell.Result
}

// Outlier is a worker that stands apart from others of the same kind of machine.
type Outlier struct {
	Worker string
	Cell   cell.Cell
	Others int     // workers that it was compared with
	Ratio  float64 // its time over theirs; 0 where it is about the verdict
	P      float64 // adjusted for all comparisons; 0 where it is about the verdict
	Why    string
}

// A worker is an outlier in speed when it differs from the median of the others by so much,
// as a share, and by so many times what the others differ from it.
const (
	leastOff = 0.15
	timesOff = 3
	// leastOthers is how many others there must be: of two that differ nobody
	// knows which is wrong.
	leastOthers = 2
)

// group is what may be compared: one cell, one model, one kind of machine.
type group struct{ cell, subject, machine string }

// Outliers compares the newest result of each worker for each cell with those of workers on
// machines that are alike. Results that say nothing about a model are left out.
func Outliers(samples []Sample) []Outlier {
	groups := map[group]map[string]Sample{}
	for _, s := range samples {
		if s.Result.Broke() || s.Result.Verdict == cell.Unavailable || s.Result.Evidence != cell.Measured && s.Result.Evidence != cell.Emulated {
			continue
		}
		g := group{s.Result.Cell.Hash, s.Result.SubjectHash, s.Host.MachineKey()}
		if s.Result.Verdict == cell.Fails {
			g.subject = "" // it may have failed before it had one
		}
		if groups[g] == nil {
			groups[g] = map[string]Sample{}
		}
		if old, there := groups[g][s.Worker]; !there || !s.Result.StartedAt.Before(old.Result.StartedAt) {
			groups[g][s.Worker] = s
		}
	}
	out := append(verdicts(groups), speeds(groups)...)
	slices.SortFunc(out, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Cell.Hash, b.Cell.Hash), cmp.Compare(a.Why, b.Why))
	})
	return out
}

// verdicts are workers that alone fail, or alone do not.
func verdicts(groups map[group]map[string]Sample) []Outlier {
	type place struct{ cell, machine string }
	newest := map[place]map[string]Sample{}
	for g, by := range groups {
		p := place{g.cell, g.machine}
		if newest[p] == nil {
			newest[p] = map[string]Sample{}
		}
		for w, s := range by {
			if old, there := newest[p][w]; !there || s.Result.StartedAt.After(old.Result.StartedAt) {
				newest[p][w] = s
			}
		}
	}
	var out []Outlier
	for _, by := range newest {
		fails := map[bool][]string{}
		for w, s := range by {
			failed := s.Result.Verdict == cell.Fails
			fails[failed] = append(fails[failed], w)
		}
		for _, failed := range []bool{true, false} {
			if len(fails[failed]) != 1 || len(fails[!failed]) < leastOthers {
				continue
			}
			s, others := by[fails[failed][0]], len(fails[!failed])
			why := fmt.Sprintf("%s works there and fails on %d machines of the same kind", s.Result.Cell.Model(), others)
			if failed {
				why = fmt.Sprintf("%s fails there and works on %d machines of the same kind", s.Result.Cell.Model(), others)
			}
			out = append(out, Outlier{Worker: s.Worker, Cell: s.Result.Cell, Others: others, Why: why})
		}
	}
	return out
}

// speeds are workers whose times are not those of their like.
func speeds(groups map[group]map[string]Sample) []Outlier {
	var found []Outlier
	var ps []float64
	for _, by := range groups {
		for _, w := range slices.Sorted(maps.Keys(by)) {
			o, ok := apart(w, by)
			if ok {
				found, ps = append(found, o), append(ps, o.P)
			}
		}
	}
	var out []Outlier
	for i, p := range measure.Adjusted(ps) {
		o := found[i]
		o.P = p
		if o.Why != "" && p <= measure.FalseDiscovery {
			out = append(out, o)
		}
	}
	return out
}

// apart compares one worker's repeats with all repeats of the others. False where there is nothing to
// compare; Why is empty where it does not stand apart.
func apart(worker string, by map[string]Sample) (Outlier, bool) {
	own := by[worker]
	if own.Result.Latency == nil {
		return Outlier{}, false
	}
	var theirs [][]float64
	var medians []float64
	for _, w := range slices.Sorted(maps.Keys(by)) {
		if l := by[w].Result.Latency; w != worker && l != nil {
			theirs, medians = append(theirs, l.SamplesMS...), append(medians, measure.Median(measure.Medians(l.SamplesMS)))
		}
	}
	if len(medians) < leastOthers {
		return Outlier{}, false
	}
	c := measure.Compare(theirs, own.Result.Latency.SamplesMS)
	if c.P == nil {
		return Outlier{}, false
	}
	middle := measure.Median(medians)
	o := Outlier{Worker: worker, Cell: own.Result.Cell, Others: len(medians), Ratio: c.MedianB / middle, P: *c.P}
	spread := 0.0
	for _, m := range medians {
		spread = max(spread, math.Abs(math.Log(m/middle)))
	}
	if off := math.Abs(math.Log(o.Ratio)); off >= math.Log1p(leastOff) && off > timesOff*spread {
		word, ratio := "slower", o.Ratio
		if ratio < 1 {
			word, ratio = "faster", 1/ratio
		}
		o.Why = fmt.Sprintf("%s is %.2f times %s there than on %d machines of the same kind", own.Result.Cell.Model(), ratio, word, o.Others)
	}
	return o, true
}
