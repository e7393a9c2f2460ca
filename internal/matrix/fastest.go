package matrix

import (
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Fastest is the platform on which a model was fastest on one host, among those
// that were timed there on the same subject and settings as the CPU.
type Fastest struct {
	Model    string        `json:"model"`
	Size     string        `json:"size"`
	Platform platform.Name `json:"platform"`
	Latency  Latency       `json:"latency"`
	Speedup  *Speedup      `json:"speedup"` // nil when the CPU itself is the fastest, or nothing can be said
	// NoSpeedup is why there is no ratio beside a winner that is not the CPU.
	NoSpeedup string   `json:"no_speedup,omitempty"`
	Among     []string `json:"among"` // the targets compared, the fastest first
}

// IsCPU reports whether what others are measured against won itself.
func (f Fastest) IsCPU() bool { return f.Speedup == nil && f.NoSpeedup == "" }

// FindFastest returns a row's fastest platform on each host that timed it on
// the CPU and elsewhere. Hosts are never compared with each other: a speed-up
// over a slow CPU would beat one over a fast CPU.
func FindFastest(observations []Observation) []Fastest {
	type place struct {
		model Model
		host  string
	}
	var order []place
	fairOnes := map[place][]Observation{}
	for _, x := range observations {
		if !fair(x) {
			continue
		}
		at := place{ModelOf(x.Cell), x.Host}
		if fairOnes[at] == nil {
			order = append(order, at)
		}
		fairOnes[at] = append(fairOnes[at], x)
	}
	var out []Fastest
	for _, at := range order {
		if race := simplestRace(fairOnes[at]); race != nil {
			out = append(out, winner(race))
		}
	}
	return out
}

// simplestRace returns the results under the simplest settings that were timed
// on the CPU and on something else, nil where there are none.
func simplestRace(list []Observation) []Observation {
	slices.SortStableFunc(list, simplest)
	for _, x := range list {
		race := filter(list, func(y Observation) bool { return sameSubject(x, y) })
		if hasCPUAndOther(race) {
			return race
		}
	}
	return nil
}

func hasCPUAndOther(race []Observation) bool {
	cpu := slices.ContainsFunc(race, onCPU)
	return cpu && slices.ContainsFunc(race, func(x Observation) bool { return !onCPU(x) })
}

// onCPU reports whether x is what others are measured against.
func onCPU(x Observation) bool {
	return x.Cell.Platform == platform.CPU && x.Cell.Engine == platform.Torch
}

// winner returns the fastest of the newest results of each target.
func winner(race []Observation) Fastest {
	slices.SortStableFunc(race, foldOrder)
	latest := newestBy(race, func(x Observation) string { return x.Cell.Target })
	slices.SortStableFunc(latest, func(a, b Observation) int {
		if a.Latency.MedianMS < b.Latency.MedianMS {
			return -1
		}
		return 1
	})
	first := latest[0]
	f := Fastest{Model: first.Cell.Type, Size: first.Cell.Size, Platform: first.Cell.Platform, Latency: *latencyOf(first), Speedup: speedup(first, latest)}
	if first.Cell.Size == cell.Full {
		f.Model = first.Cell.Model()
	}
	if f.Speedup == nil && !onCPU(first) {
		f.NoSpeedup = "the samples of both sides are not kept"
	}
	for _, x := range latest {
		f.Among = append(f.Among, x.Cell.Target)
	}
	return f
}
