package lab

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/runner"
)

// fewest is how many samples a repeat takes however long each takes.
const fewest = 3

// loading are the phases of a check that each repeat goes through again.
var loading = append([]string{"import"}, cell.LoadPhases()...)

// pace fits the repeats of a series into the time that they may take in all. The
// repeats stay as many as they are, since the interval rests on them; what gives
// way is how many samples each takes.
func (c *carrying) pace(s *series) {
	rule, _ := TimingRule(c.plan.Timing)
	load, calls := s.load(), s.calls()
	s.rule, s.takes = rule, load+s.sampling(rule)
	limit, bounded := longest[c.plan.Timing]
	if !bounded || c.plan.Repeats > 0 || s.takes*time.Duration(s.repeats) <= limit {
		return
	}
	room := max(limit/time.Duration(s.repeats)-load, 0) / time.Duration(len(s.points))
	short := *rule
	// Of the room a fifth is for warming up, as in the whole rule.
	short.MaxS = max(room.Seconds()*4/5, fewest*calls.Seconds()/float64(len(s.points)), rule.MinS)
	short.MinS, short.WarmupMaxS = min(rule.MinS, short.MaxS), short.MaxS/4
	if short.MaxS >= rule.MaxS {
		return
	}
	s.rule, s.takes = &short, load+s.sampling(&short)
	s.note = fmt.Sprintf("fewer samples per repeat: each takes %.1f s", calls.Seconds()/float64(len(s.points)))
}

// load is what it takes until the first inference of a repeat.
func (s *series) load() time.Duration {
	ms := 0.0
	for _, phase := range loading {
		ms += s.points[0].result.PhasesMS[phase]
	}
	return milliseconds(ms)
}

// calls is one inference of each point, as the check ran it. That one is cold
// and takes longer than those to come: a plan ends early rather than late.
func (s *series) calls() time.Duration {
	ms := 0.0
	for _, p := range s.points {
		ms += p.result.PhasesMS["run"]
	}
	return milliseconds(ms)
}

// sampling is how long the samples of a repeat take under a rule.
func (s *series) sampling(rule *runner.TimingRule) time.Duration {
	total := 0.0
	for _, p := range s.points {
		each := p.result.PhasesMS["run"] / 1e3
		total += min(rule.MaxS, max(rule.MinS, float64(rule.MinN)*each)) + min(rule.WarmupMaxS, float64(2*rule.WarmupWindow)*each)
	}
	return time.Duration(total * float64(time.Second))
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// worthSaying is the least time that is said before it is spent.
const worthSaying = 20 * time.Second

// sayPlanned tells how long timing will take, before it begins.
func (c *carrying) sayPlanned(all []*series) {
	var total time.Duration
	points, repeats := 0, 0
	for _, s := range all {
		total += s.takes * time.Duration(s.repeats)
		points += len(s.points)
		repeats = max(repeats, s.repeats)
	}
	if total >= worthSaying {
		c.note(fmt.Sprintf("timing %s takes about %s: %s of each, one at a time", plural(points, "cell"), about(total), plural(repeats, "repeat")))
	}
}

func about(d time.Duration) string {
	if d < 90*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// slower is from which ratio on a repeat's processor is called slower than another's. A fixed
// loop on a quiet core varies by some percent.
const slower = 1.15

// uneven says how much slower the processor itself was in some repeats than in the
// fastest, if it was; "" otherwise. paces are what a fixed loop took around each repeat.
func uneven(paces [][]float64) string {
	var means []float64
	for _, p := range paces {
		sum := 0.0
		for _, ms := range p {
			sum += ms
		}
		means = append(means, sum/float64(len(p)))
	}
	best, most, n := slices.Min(means), slices.Max(means), 0
	for _, m := range means {
		if m >= slower*best {
			n++
		}
	}
	if n == 0 || best <= 0 {
		return ""
	}
	return fmt.Sprintf("the processor itself was up to %.1f times slower in %d of %d repeats than in the fastest: its clock changed, or others use its cores", most/best, n, len(means))
}

// markBusy says of times that others disturbed that they cannot be trusted.
func markBusy(l *cell.Latency, why string) {
	if why == "" || l == nil {
		return
	}
	l.Stable, l.Why = false, joinNotes(why, l.Why)
}
