package matrix

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/platform"
)

// At says under which settings a number was taken. Numbers of different
// settings are never averaged; the one shown is the simplest that was timed.
type At struct {
	Target string         `json:"target"`
	DType  platform.DType `json:"dtype"`
	Batch  int            `json:"batch"`
	Host   string         `json:"host,omitempty"`
	// Imported says that nobody here saw it taken.
	Imported bool `json:"imported,omitempty"`
}

// Latency is the steady state of a timed run on the device.
type Latency struct {
	At
	Repeats  int      `json:"repeats"`
	MedianMS float64  `json:"median_ms"`
	LoMS     *float64 `json:"lo_ms"`
	HiMS     *float64 `json:"hi_ms"`
	Stable   bool     `json:"stable"`
	Why      string   `json:"why,omitempty"`
	Sync     string   `json:"sync,omitempty"`
}

// Load is everything before the first inference, download left out: it describes
// the network, not of the platform.
type Load struct {
	At
	Seconds float64 `json:"load_s"`
}

// Peak is the most memory held at once: the device's where it has its own and
// the driver tells, else what the process grew by on the host; of a cell in a
// page what all processes of its own browser held.
type Peak struct {
	At
	Bytes int64  `json:"peak_bytes"`
	Where string `json:"where"` // device, host, browser
}

// Speedup is how many times faster than the CPU of the same host.
type Speedup struct {
	At
	Ratio    float64  `json:"ratio"`
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	P        *float64 `json:"p"`
	Stable   bool     `json:"stable"` // both times are
	Warnings []string `json:"warnings,omitempty"`
}

// measure fills in the square's numbers from the observations of the
// headline's size; row holds the CPU's, for the speed-up.
func (s *Square) measure(list, row []Observation) {
	ran := filter(list, func(x Observation) bool {
		return x.Evidence == cell.Measured && (x.Verdict == cell.Works || x.Verdict == cell.Partial) && x.Cell.Scenario == ""
	})
	slices.SortStableFunc(ran, simplest)
	for _, x := range ran {
		if s.Latency == nil && Timed(x.Result) {
			s.Latency = latencyOf(x)
		}
		if s.Load == nil && Timed(x.Result) {
			s.Load = loadOf(x)
		}
		if s.Peak == nil {
			s.Peak = peakOf(x)
		}
		if s.Speedup == nil && s.Platform != platform.CPU { // the CPU's own square is what others are compared with
			s.Speedup = speedup(x, row)
		}
	}
}

// simplest puts timed runs first, then plain inference, the platform's default
// engine, the smallest batch, the platform's default dtype, and the newest.
func simplest(a, b Observation) int {
	return cmp.Or(
		rank(!timed(a), !timed(b)),
		rank(a.Cell.Mode != cell.Infer, b.Cell.Mode != cell.Infer),
		rank(a.Cell.Shapes != "", b.Cell.Shapes != ""),
		cmp.Compare(engineOrder(a.Cell), engineOrder(b.Cell)),
		cmp.Compare(a.Cell.Batch, b.Cell.Batch),
		cmp.Compare(dtypeOrder(a.Cell), dtypeOrder(b.Cell)),
		foldOrder(a, b),
	)
}

func rank(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func dtypeOrder(c cell.Cell) int {
	return slices.Index(c.Where().DTypes(), c.DType)
}

func engineOrder(c cell.Cell) int {
	p, _ := platform.Get(c.Platform)
	return slices.Index(p.Engines, c.Engine)
}

// Timed reports whether a result's times may be shown as latency: it ran on the
// real device, under a stop rule made for timing.
func Timed(r cell.Result) bool {
	return r.Evidence == cell.Measured && r.Latency != nil && r.Timing != cell.Functional && r.Timing != ""
}

func timed(x Observation) bool { return Timed(x.Result) }

func at(x Observation) At {
	return At{Target: x.Cell.Target, DType: x.Cell.DType, Batch: x.Cell.Batch, Host: x.Host, Imported: x.Imported}
}

func latencyOf(x Observation) *Latency {
	l := x.Latency
	return &Latency{At: at(x), Repeats: l.Repeats, MedianMS: l.MedianMS, LoMS: l.LoMS, HiMS: l.HiMS, Stable: l.Stable, Why: l.Why, Sync: l.Sync}
}

func loadOf(x Observation) *Load {
	ms, known := LoadMS(x.Result)
	if !known {
		return nil
	}
	return &Load{At: at(x), Seconds: ms / 1e3}
}

// LoadMS returns the time of everything before the first inference, download
// left out, and whether any of it was timed.
func LoadMS(r cell.Result) (ms float64, known bool) {
	for _, phase := range cell.LoadPhases() {
		if v, ok := r.PhasesMS[phase]; ok {
			ms, known = ms+v, true
		}
	}
	return ms, known
}

func peakOf(x Observation) *Peak {
	bytes, where, known := PeakBytes(x.Result)
	if !known {
		return nil
	}
	return &Peak{At: at(x), Bytes: bytes, Where: where}
}

// PeakBytes returns the result's own peak of memory and where it was seen: on
// the device where that is known, else on the host beyond what the process
// had inherited, or in all of a browser that ran nothing else.
func PeakBytes(r cell.Result) (bytes int64, where string, known bool) {
	m := r.Memory
	switch {
	case m == nil:
		return 0, "", false
	case m.DevicePeakBytes != nil && m.DeviceBaselineBytes != nil:
		return max(0, *m.DevicePeakBytes-*m.DeviceBaselineBytes), "device", true
	case m.DevicePeakBytes != nil:
		return *m.DevicePeakBytes, "device", true
	case m.HostPeakBytes != nil && m.HostBaselineBytes != nil:
		return max(0, *m.HostPeakBytes-*m.HostBaselineBytes), "host", true
	case m.HostPeakBytes != nil && r.Cell.Engine.Traits().Pages:
		return *m.HostPeakBytes, "browser", true
	}
	return 0, "", false
}

// speedup compares a timed observation with the newest of the CPU's that ran
// the same subject in the same size, dtype, batch and mode on the same host.
// Another engine on the CPU is compared with torch's there.
func speedup(x Observation, row []Observation) *Speedup {
	if onCPU(x) || !fair(x) {
		return nil
	}
	cpus := filter(row, func(c Observation) bool { return onCPU(c) && fair(c) && sameSubject(x, c) })
	if len(cpus) == 0 {
		return nil
	}
	slices.SortStableFunc(cpus, foldOrder)
	c := measure.Compare(x.Latency.SamplesMS, cpus[0].Latency.SamplesMS)
	if c.P == nil || math.IsNaN(c.Ratio) || math.IsInf(c.Ratio, 0) {
		return nil // a journal without samples, or with a clock that stood still
	}
	return &Speedup{At: at(x), Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi, P: c.P, Stable: x.Latency.Stable && cpus[0].Latency.Stable, Warnings: c.Warnings}
}

// fair leaves out what was not synchronised with its device: such a time is
// that of handing work over, not of doing it. A time of the throughput scenario
// is what an inference costs, not how long it takes: it is not a latency.
func fair(x Observation) bool {
	works := x.Verdict == cell.Works || x.Verdict == cell.Partial
	return works && timed(x) && x.SubjectHash != "" && x.Latency.Sync == "" && x.Cell.Scenario == ""
}

// sameSubject reports whether two results differ only in where and how an
// engine ran the very same thing.
func sameSubject(a, b Observation) bool {
	return a.Host == b.Host && a.SubjectHash == b.SubjectHash && subjectKey(a.Cell) == subjectKey(b.Cell)
}

func subjectKey(c cell.Cell) cell.Key {
	return c.Key(cell.AnyTarget, cell.AnySpecial, cell.AnyThreads, cell.AnyCheckpointIfTiny)
}
