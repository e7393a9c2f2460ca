package lab

import (
	"slices"

	"assay/internal/cell"
	"assay/internal/measure"
)

// fill puts what the repeats measured into the result.
func fill(r *cell.Result, runs []pointRun) {
	if len(runs) == 0 {
		return
	}
	r.Latency = latency(runs)
	r.PhasesMS = medianPhases(runs)
	r.Throughput = &cell.Throughput{Value: float64(r.Actual.Batch) / r.Latency.MedianMS * 1000, Unit: "items_per_s"}
	if r.Cell.Scenario == cell.Moving {
		r.Throughput = nil // a sample is a way there and back, and no inference
	}
	r.Memory = nil
	for _, run := range runs {
		r.Memory = most(r.Memory, run.Memory)
	}
	r.Context = describe(r.Context, runs[0].Report)
	for _, run := range runs[1:] {
		c := describe(r.Context, run.Report)
		r.Context.Throttled = either(r.Context.Throttled, c.Throttled)
		r.Context.DeviceThrottled = either(r.Context.DeviceThrottled, c.DeviceThrottled)
	}
	r.HarnessCPUFraction = largest(values(runs, func(p pointRun) *float64 { return p.harness }))
	r.Generation = generation(r.Generation, runs)
	r.Training = trained(r.Training, runs)
	r.Pipeline = requested(r.Pipeline, runs)
	r.Ranks = ranked(r.Ranks, runs)
	r.Moves = moved(r.Moves, runs)
	r.EnergyJ = middle(values(runs, func(p pointRun) *float64 { return p.EnergyJ }))
}

// hiddenPage is why times that were taken in a page out of view are not stable.
const hiddenPage = "the page was hidden while it was timed, and browsers slow hidden pages down: run it again with the page visible"

func latency(runs []pointRun) *cell.Latency {
	var samples, device [][]float64
	stable := true
	for _, run := range runs {
		samples = append(samples, run.SamplesMS)
		device = append(device, run.DeviceSamplesMS)
		if run.Warmup != nil && run.Warmup.Stable != nil {
			stable = stable && *run.Warmup.Stable
		}
	}
	s := measure.Summarise(samples)
	last := runs[len(runs)-1]
	l := &cell.Latency{
		Repeats: s.Repeats, N: s.N, MedianMS: s.Median, LoMS: s.Lo, HiMS: s.Hi, MinMS: s.Min, MaxMS: s.Max,
		P90MS: s.P90, P95MS: s.P95, P99MS: s.P99, CVWithin: s.CVWithin, CVBetween: s.CVBetween,
		Stable: s.Stable, Why: s.Why, Sync: last.Sync, SamplesMS: samples,
		CPUMSPerIter: middle(values(runs, func(p pointRun) *float64 { return p.CPUMSPerIter })),
	}
	// A device's median stands beside the host's only if every repeat has both.
	if !slices.ContainsFunc(device, func(d []float64) bool { return len(d) == 0 }) {
		m := measure.Summarise(device).Median
		l.DeviceMS, l.DeviceSamples = &m, device
	}
	if !slices.ContainsFunc(runs, func(p pointRun) bool { return len(p.PaceMS) == 0 }) {
		for _, run := range runs {
			l.PaceMS = append(l.PaceMS, run.PaceMS)
		}
		if !l.Stable {
			l.Why = joinNotes(l.Why, uneven(l.PaceMS))
		}
	}
	if slices.ContainsFunc(runs, func(p pointRun) bool { return p.Hidden != nil && *p.Hidden }) {
		l.Stable, l.Why, l.Hidden = false, hiddenPage, true
	}
	if last.Warmup != nil {
		l.WarmupCount, l.WarmupMeanMS, l.WarmupStable = last.Warmup.Count, last.Warmup.MeanMS, &stable
	}
	return l
}

// medianPhases is the median of each phase over the repeats.
func medianPhases(runs []pointRun) map[string]float64 {
	byName := map[string][]float64{}
	for _, run := range runs {
		for name, ms := range run.phases {
			byName[name] = append(byName[name], ms)
		}
	}
	out := make(map[string]float64, len(byName))
	for name, ms := range byName {
		out[name] = measure.Median(ms)
	}
	return out
}

// most joins two readings of memory: the larger peak, the smaller baseline.
func most(a, b *cell.Memory) *cell.Memory {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return &cell.Memory{
		HostBaselineBytes:   pick(a.HostBaselineBytes, b.HostBaselineBytes, func(x, y int64) int64 { return min(x, y) }),
		HostPeakBytes:       pick(a.HostPeakBytes, b.HostPeakBytes, func(x, y int64) int64 { return max(x, y) }),
		DeviceBaselineBytes: pick(a.DeviceBaselineBytes, b.DeviceBaselineBytes, func(x, y int64) int64 { return min(x, y) }),
		DevicePeakBytes:     pick(a.DevicePeakBytes, b.DevicePeakBytes, func(x, y int64) int64 { return max(x, y) }),
		FrameworkPeakBytes:  pick(a.FrameworkPeakBytes, b.FrameworkPeakBytes, func(x, y int64) int64 { return max(x, y) }),
	}
}

// pick joins two values that may be unknown.
func pick[T any](a, b *T, join func(T, T) T) *T {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	v := join(*a, *b)
	return &v
}

func either(a, b *bool) *bool { return pick(a, b, func(x, y bool) bool { return x || y }) }

// values are the known ones of a reading over the repeats.
func values(runs []pointRun, of func(pointRun) *float64) []float64 {
	var out []float64
	for _, run := range runs {
		if v := of(run); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

func largest(xs []float64) *float64 {
	if len(xs) == 0 {
		return nil
	}
	m := slices.Max(xs)
	return &m
}

func middle(xs []float64) *float64 {
	if len(xs) == 0 {
		return nil
	}
	m := measure.Median(xs)
	return &m
}
