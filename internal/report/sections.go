package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// Problem is a square that does not plainly work, and why.
type Problem struct {
	Model      string            `json:"model"`
	Platform   platform.Name     `json:"platform"`
	Target     string            `json:"target"`
	Verdict    cell.Verdict      `json:"verdict"`
	Evidence   cell.Evidence     `json:"evidence"`
	Class      cell.FailureClass `json:"class,omitempty"`
	Why        string            `json:"why,omitempty"`
	Hint       string            `json:"hint,omitempty"`
	Conditions string            `json:"conditions,omitempty"`
	Imported   bool              `json:"imported,omitempty"`
}

// Performance is one timed cell on one host.
type Performance struct {
	Subject
	Latency    cell.Latency     `json:"latency"` // without the raw samples
	Throughput *cell.Throughput `json:"throughput"`
	Medians    []float64        `json:"repeat_medians_ms"`
}

// MemoryUse is what one cell on one host held at most.
type MemoryUse struct {
	Subject
	Parameters int64       `json:"parameters,omitempty"`
	Memory     cell.Memory `json:"memory"`
}

// Subject says what ran where.
type Subject struct {
	Model   string         `json:"model"`
	Family  string         `json:"family"`
	Target  string         `json:"target"`
	Size    string         `json:"size"`
	Weights string         `json:"weights"`
	DType   platform.DType `json:"dtype"`
	Batch   int            `json:"batch"`
	Seq     int            `json:"seq,omitempty"`
	Image   int            `json:"image,omitempty"`
	Mode    string         `json:"mode,omitempty"` // "" is infer
	cell.Special
	Host string `json:"host"`
}

// Hardware is a host, and what ran there.
type Hardware struct {
	cell.Host
	Targets []string `json:"targets"` // on which something ran
	Results int      `json:"results"`
}

// newest keeps, of each cell on each host, the newest result that ran on the
// device, a timed one before a functional one: the lists hold what was measured.
func newest(observations []matrix.Observation, order map[string]int) []matrix.Observation {
	list := slices.DeleteFunc(slices.Clone(observations), func(x matrix.Observation) bool {
		return x.Evidence != cell.Measured || x.Verdict != cell.Works && x.Verdict != cell.Partial
	})
	slices.SortStableFunc(list, func(a, b matrix.Observation) int {
		return cmp.Or(-compareBool(matrix.Timed(a.Result), matrix.Timed(b.Result)), b.StartedAt.Compare(a.StartedAt))
	})
	type key struct {
		host string
		cell cell.Key
	}
	seen := map[key]bool{}
	list = slices.DeleteFunc(list, func(x matrix.Observation) bool {
		k := key{x.Host, x.Cell.Key()}
		dup := seen[k]
		seen[k] = true
		return dup
	})
	slices.SortStableFunc(list, func(a, b matrix.Observation) int {
		return cmp.Or(order[a.Cell.Size+rowName(a.Cell)]-order[b.Cell.Size+rowName(b.Cell)], bySubject(a, b))
	})
	return list
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rowName is the model in whose row the cell's result stands.
func rowName(c cell.Cell) string {
	if c.Size == cell.Full {
		return c.Model()
	}
	return c.Type
}

func bySubject(a, b matrix.Observation) int {
	return cmp.Or(
		strings.Compare(a.Host, b.Host),
		a.Cell.Platform.Place()-b.Cell.Platform.Place(),
		strings.Compare(a.Cell.Target, b.Cell.Target),
		strings.Compare(string(a.Cell.DType), string(b.Cell.DType)),
		cmp.Compare(a.Cell.Batch, b.Cell.Batch),
		cmp.Compare(a.Cell.Seq, b.Cell.Seq),
	)
}

func subjectOf(x matrix.Observation) Subject {
	c := x.Cell
	return Subject{rowName(c), c.Family, c.Target, c.Size, c.Weights, c.DType, c.Batch, c.Seq, c.Image, strings.TrimPrefix(c.Mode, cell.Infer), c.Special, x.Host}
}

// problems lists the squares that fail, are partial, hold under a condition or
// are in dispute. A platform that is not there is no problem of the model's.
func problems(m matrix.Matrix) []Problem {
	out := []Problem{}
	for _, r := range m.Rows {
		for _, s := range r.Squares {
			bad := s.Verdict == cell.Fails || s.Verdict == cell.Partial || s.Verdict == matrix.Unknown
			if bad || s.Conditions != "" {
				out = append(out, Problem{r.Model, s.Platform, s.Target, s.Verdict, s.Evidence, s.Class, s.Why, s.Hint, s.Conditions, s.Imported})
			}
		}
	}
	return out
}

func performance(list []matrix.Observation) []Performance {
	out := []Performance{}
	for _, x := range list {
		if !matrix.Timed(x.Result) {
			continue
		}
		p := Performance{Subject: subjectOf(x), Latency: *x.Latency, Throughput: x.Throughput, Medians: repeatMedians(x.Latency)}
		p.Latency.SamplesMS, p.Latency.DeviceSamples = nil, nil
		out = append(out, p)
	}
	return out
}

func memoryUse(list []matrix.Observation) []MemoryUse {
	out := []MemoryUse{}
	for _, x := range list {
		if _, _, known := matrix.PeakBytes(x.Result); known {
			out = append(out, MemoryUse{subjectOf(x), x.Parameters, *x.Memory})
		}
	}
	return out
}

// fastest lists models in the matrix's order, then hosts.
func fastest(observations []matrix.Observation, order map[string]int) []matrix.Fastest {
	out := append([]matrix.Fastest{}, matrix.FindFastest(observations)...)
	slices.SortStableFunc(out, func(a, b matrix.Fastest) int {
		return cmp.Or(order[a.Size+a.Model]-order[b.Size+b.Model], strings.Compare(a.Latency.Host, b.Latency.Host))
	})
	return out
}

// orderOf numbers the matrix's rows by size and name, so that other lists can
// follow them.
func orderOf(m matrix.Matrix) map[string]int {
	order := map[string]int{}
	for i, r := range m.Rows {
		size := cell.Tiny
		if r.Checkpoint != "" {
			size = cell.Full
		}
		order[size+r.Model] = i
	}
	return order
}

// ran reports whether the model was executed there, well or badly.
func ran(r cell.Result) bool {
	return (r.Evidence == cell.Measured || r.Evidence == cell.Emulated) && r.Verdict != cell.Unavailable && !r.Broke()
}

// hardware lists the hosts in the order given, then those that are only named.
func hardware(observations []matrix.Observation, hosts []cell.Host) []Hardware {
	out := make([]Hardware, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, Hardware{Host: h})
	}
	targets := map[string]map[string]bool{}
	for _, x := range observations {
		i := slices.IndexFunc(out, func(h Hardware) bool { return h.ID == x.Host })
		if i < 0 {
			i = len(out)
			out = append(out, Hardware{Host: cell.Host{ID: x.Host}})
		}
		out[i].Results++
		if !ran(x.Result) {
			continue
		}
		if targets[x.Host] == nil {
			targets[x.Host] = map[string]bool{}
		}
		targets[x.Host][x.Cell.Target] = true
	}
	for i := range out {
		out[i].Targets = slices.Sorted(maps.Keys(targets[out[i].ID]))
	}
	return out
}
