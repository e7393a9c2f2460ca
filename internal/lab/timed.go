package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/runner"
)

// block is how many groups are interleaved. Interleaving spreads a machine's
// slow minutes over all of them; a block's results are final when its last
// repeat ends, so a stopped plan keeps the blocks before it.
const block = 8

// patience is how long the repeats of one group may take in all, loading
// included. A model that takes longer to load has fewer repeats, and says so.
var patience = map[cell.Timing]time.Duration{cell.Quick: 2 * time.Minute, cell.Thorough: 6 * time.Minute}

// warm-up ends when the last windows agree within a tenth, or at its cap.
func timingRule(t cell.Timing) (*runner.TimingRule, int) {
	r := measure.Rules()[string(t)]
	return &runner.TimingRule{MinS: r.MinS, MinN: r.MinN, MaxS: r.MaxS, WarmupMaxS: r.MaxS / 4, WarmupWindow: 5, WarmupTolerance: 0.1}, r.Repeats
}

// timeAll carries a timed plan out, block by block.
func (c *carrying) timeAll(ctx context.Context, routes []route) error {
	c.announce(routes)
	for gs := range slices.Chunk(groups(routes), block) {
		series, err := c.checkBlock(ctx, gs)
		if err != nil {
			return err
		}
		if err := c.timeBlock(ctx, series); err != nil {
			return err
		}
	}
	return nil
}

// series is a group being timed: one loaded model, its points, and what each
// repeat saw.
type series struct {
	points  []*attempt
	runs    []outcome
	repeats int // planned
	note    string
}

// checkBlock checks the groups side by side. What does not work is final; the
// rest is returned to be timed.
func (c *carrying) checkBlock(ctx context.Context, gs []group) ([]*series, error) {
	release, err := c.hush(ctx, false)
	if err != nil {
		return nil, err
	}
	defer release()
	checked := make(chan []*attempt, len(gs))
	err = c.each(ctx, gs, func(ctx context.Context, g group) error {
		done, err := c.check(ctx, g)
		if err == nil {
			checked <- done
		}
		return err
	})
	close(checked)
	if err != nil {
		return nil, err
	}
	var out []*series
	for done := range checked {
		out = append(out, c.toTime(done)...)
	}
	return out, nil
}

// toTime finishes what cannot be timed and gathers the rest into series of
// equal settings.
func (c *carrying) toTime(done []*attempt) []*series {
	_, repeats := timingRule(c.plan.Timing)
	if c.plan.Repeats > 0 {
		repeats = c.plan.Repeats
	}
	var out []*series
	for _, a := range done {
		if a.result.Verdict == cell.Fails {
			c.finish(*a.result)
			continue
		}
		i := slices.IndexFunc(out, func(s *series) bool {
			return s.points[0].now.DType == a.now.DType && s.points[0].now.Target == a.now.Target
		})
		if i < 0 {
			out = append(out, &series{points: []*attempt{a}, repeats: repeats})
			continue
		}
		out[i].points = append(out[i].points, a)
	}
	return out
}

// timeBlock times the series alone on the host, their repeats interleaved.
func (c *carrying) timeBlock(ctx context.Context, all []*series) error {
	release, err := c.hush(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	for round := 0; ; round++ {
		open := false
		for _, s := range all {
			if round >= s.repeats {
				continue
			}
			open = true
			if err := c.repeat(ctx, s); err != nil {
				return err
			}
			if round == s.repeats-1 {
				c.conclude(s)
			}
		}
		if !open {
			return nil
		}
	}
}

// repeat carries one fresh child out over the series' points.
func (c *carrying) repeat(ctx context.Context, s *series) error {
	n := estimate(s.points[0].now, s.points[0].recipe.Parameters, false)
	n.alone = true
	release, err := c.slots.acquire(ctx, n)
	if err != nil {
		return err
	}
	defer release()
	rule, _ := timingRule(c.plan.Timing)
	out, err := c.execute(ctx, c.job(runner.TimeJob, s.points, rule))
	if err != nil {
		return err
	}
	s.runs = append(s.runs, out)
	if out.failure != nil {
		s.repeats = len(s.runs) // no use in going on
		return nil
	}
	c.shorten(s, out.wall)
	return nil
}

// shorten lowers the number of repeats of a model that takes long.
func (c *carrying) shorten(s *series, took time.Duration) {
	limit, bounded := patience[c.plan.Timing]
	if !bounded || c.plan.Repeats > 0 || len(s.runs) > 1 {
		return
	}
	if n := max(1, int(limit/took)); n < s.repeats {
		s.note = fmt.Sprintf("%d of %d repeats: each takes %.0f s", n, s.repeats, took.Seconds())
		s.repeats = n
	}
}

// conclude finishes the series' results.
func (c *carrying) conclude(s *series) {
	for i, a := range s.points {
		r := a.result
		r.Note = joinNotes(r.Note, s.note)
		last := s.runs[len(s.runs)-1]
		if last.failure != nil && (last.failedAt < 0 || last.failedAt <= i) {
			r.Verdict, r.Failure = cell.Fails, last.failure
			r.Note = joinNotes(r.Note, fmt.Sprintf("repeat %d of a check that had worked failed", len(s.runs)))
		}
		fill(r, s.runs, i)
		c.finish(*r)
	}
}

// fill puts what the repeats measured into the result.
func fill(r *cell.Result, runs []outcome, point int) {
	var samples, device [][]float64
	var phase []map[string]float64
	var harness, cpu []float64
	for _, out := range runs {
		p, ok := out.reports[point]
		if !ok {
			continue
		}
		samples = append(samples, p.SamplesMS)
		device = append(device, p.DeviceSamplesMS)
		phase = append(phase, phases(out.phases, p.PhasesMS))
		harness = append(harness, out.harness...)
		if p.CPUMSPerIter != nil {
			cpu = append(cpu, *p.CPUMSPerIter)
		}
		r.Memory, r.EnergyJ, r.Context = p.Memory, p.EnergyJ, describe(r.Context, p)
	}
	if len(samples) == 0 {
		return
	}
	last := runs[len(runs)-1].reports[point]
	r.Latency = latency(samples, device, cpu, last)
	r.PhasesMS = medians(phase)
	r.Throughput = &cell.Throughput{Value: float64(r.Actual.Batch) / r.Latency.MedianMS * 1000, Unit: "items_per_s"}
	if len(harness) > 0 {
		share := slices.Max(harness)
		r.HarnessCPUFraction = &share
	}
}

func latency(samples, device [][]float64, cpu []float64, p runner.Report) *cell.Latency {
	s := measure.Summarise(samples)
	l := &cell.Latency{
		Repeats: s.Repeats, N: s.N, MedianMS: s.Median, LoMS: s.Lo, HiMS: s.Hi, MinMS: s.Min, MaxMS: s.Max,
		P90MS: s.P90, P95MS: s.P95, P99MS: s.P99, CVWithin: s.CVWithin, CVBetween: s.CVBetween,
		Stable: s.Stable, Why: s.Why, Sync: p.Sync, SamplesMS: samples,
	}
	if p.Warmup != nil {
		l.WarmupCount = p.Warmup.Count
	}
	// A device's median is beside the host's only if every repeat has both.
	if !slices.ContainsFunc(device, func(d []float64) bool { return len(d) == 0 }) {
		m := measure.Summarise(device).Median
		l.DeviceMS, l.DeviceSamples = &m, device
	}
	if len(cpu) > 0 {
		m := median(cpu)
		l.CPUMSPerIter = &m
	}
	return l
}

// medians is the median of each phase over the repeats.
func medians(repeats []map[string]float64) map[string]float64 {
	byName := map[string][]float64{}
	for _, m := range repeats {
		for name, ms := range m {
			byName[name] = append(byName[name], ms)
		}
	}
	out := make(map[string]float64, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out[name] = median(byName[name])
	}
	return out
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func median(xs []float64) float64 { return measure.Medians([][]float64{xs})[0] }
