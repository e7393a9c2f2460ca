package lab

import (
	"fmt"
	"slices"

	"assay/internal/cell"
)

// Past are the times of this host, the newest first, read once before a plan.
type Past struct {
	Times []cell.Time
	Why   string // there are none to look at; "" where there were
}

// of are the times of a cell. A head that nobody named may be any: the subject
// tells it.
func (p Past) of(c cell.Cell) []cell.Time {
	ignoring := []cell.Any{cell.AnyCheckpointIfTiny}
	if c.Task == "" {
		ignoring = append(ignoring, cell.AnyTask)
	}
	return slices.DeleteFunc(slices.Clone(p.Times), func(k cell.Time) bool { return k.Cell.Key(ignoring...) != c.Key(ignoring...) })
}

// times are the newest stable ones of a cell by subject.
func (p Past) times(c cell.Cell) map[string]float64 {
	out := map[string]float64{}
	for _, k := range p.of(c) {
		if _, newer := out[k.Subject]; !newer && !k.Unstable {
			out[k.Subject] = k.MedianMS
		}
	}
	return out
}

// expected is what a fallback costs as far as both sides were timed before, and
// otherwise why that is not known.
func (c *carrying) expected(r route) (*cell.Cost, string) {
	from, to := c.Past.times(r.asked), c.Past.times(r.cell)
	switch {
	case r.asked.Scenario != "":
		return nil, unlikeTimes
	case c.Past.Why != "":
		return nil, c.Past.Why
	case len(from) == 0:
		return nil, c.Past.neverTimed(r.asked)
	case len(to) == 0 && c.plan.Timing != cell.Functional:
		return nil, "see the result on " + r.cell.Target + ", which is timed now"
	case len(to) == 0:
		return nil, c.Past.neverTimed(r.cell)
	}
	var both []float64
	for subject, ms := range from {
		if other, ok := to[subject]; ok {
			both = append(both, other/ms)
		}
	}
	switch len(both) {
	case 0:
		return nil, fmt.Sprintf("%s and %s were never timed on the same subject here", r.asked.Target, r.cell.Target)
	case 1:
		return &cell.Cost{Ratio: both[0], Evidence: cell.Measured}, ""
	}
	return nil, "several subjects were timed with these settings: see the result on " + r.cell.Target
}

// unlikeTimes is why a time of the throughput scenario has no cost beside a latency.
const unlikeTimes = "the cost of one inference among many is not compared with a latency"

// neverTimed is why there is no time of a cell to compute with.
func (p Past) neverTimed(c cell.Cell) string {
	if slices.ContainsFunc(p.of(c), func(k cell.Time) bool { return k.Unstable }) && len(p.times(c)) == 0 {
		return fmt.Sprintf("%s has only unstable times with these settings on this host: time it again with assay bench", c.Target)
	}
	return fmt.Sprintf("%s was never timed with these settings on this host: assay bench times it where it is present", c.Target)
}

// price gives a fallback's own result its cost: its time, of this bench or of
// one before, over the asked target's on this host and the same subject.
func (c *carrying) price(a *attempt) {
	r := a.result
	if r.Fallback == nil || r.Fallback.From == "" {
		return
	}
	r.Fallback.Cost, r.Fallback.NoCost = c.paid(a, r)
}

func (c *carrying) paid(a *attempt, r *cell.Result) (*cell.Cost, string) {
	from, known := c.Past.times(a.asked)[r.SubjectHash]
	to, timed := c.Past.times(a.now)[r.SubjectHash]
	l := r.Latency
	now := l != nil && r.Timing != cell.Functional && r.Evidence == cell.Measured && l.Sync == ""
	if now {
		to, timed = l.MedianMS, true
	}
	switch {
	case a.asked.Scenario != "":
		return nil, unlikeTimes
	case c.Past.Why != "":
		return nil, c.Past.Why
	case r.Verdict == cell.Fails || r.Verdict == cell.Unavailable || r.Verdict == cell.Unknown:
		return nil, "it did not run"
	case now && !l.Stable:
		return nil, "its own time was unstable: " + l.Why
	case !known:
		return nil, c.Past.neverTimed(a.asked)
	case !timed:
		return nil, c.Past.neverTimed(a.now)
	}
	return &cell.Cost{Ratio: to / from, Evidence: cell.Measured}, ""
}
