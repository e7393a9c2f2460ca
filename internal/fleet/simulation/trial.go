package simulation

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/measure"
)

// Outcome is one workload under both policies, in seconds.
type Outcome struct {
	Seed    uint64
	Bound   float64
	Planned float64
	Served  float64 // the better of the two ways to serve in order
	Tasks   int
	Copies  int // that placement made
}

// Ratio is how far above the bound placement ended.
func (o Outcome) Ratio() float64 { return o.Planned / o.Bound }

// Try draws a workload and carries it out under both policies.
func (s Setting) Try(samples []Sample, seed uint64) (Outcome, error) {
	load, err := s.Draw(samples, seed)
	if err != nil {
		return Outcome{}, err
	}
	start := time.Unix(1e9, 0)
	planned, err := Run(load, NewPlanned(load), start)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s, seed %d: %w", s.Name, seed, err)
	}
	o := Outcome{Seed: seed, Bound: Bound(load), Planned: planned.Seconds, Tasks: s.Tasks, Copies: planned.Copies}
	for _, waits := range []bool{true, false} {
		c, err := Run(load, NewServed(load, waits), start)
		if err != nil {
			return o, fmt.Errorf("%s, seed %d, first come, first served: %w", s.Name, seed, err)
		}
		if o.Served == 0 || c.Seconds < o.Served {
			o.Served = c.Seconds
		}
	}
	return o, nil
}

// Summary is what many outcomes say.
type Summary struct {
	Workloads                int
	Median, Worst            float64 // of the ratio to the bound
	WorstSeed                uint64
	ServedMedian, ServedMost float64 // the same, first come, first served
	Worse                    int     // workloads on which placement ended later than that
	WorseSeeds               []uint64
	WorseMost                float64 // by how much at most, as a ratio
	Gain                     float64 // median of the served time over the planned one
	Copies                   float64 // of all tasks, the share
}

// Summarise counts outcomes up.
func Summarise(outcomes []Outcome) Summary {
	s := Summary{Workloads: len(outcomes)}
	tasks, copies := 0, 0
	var ratios, served, gains []float64
	for _, o := range outcomes {
		ratios, served, gains = append(ratios, o.Ratio()), append(served, o.Served/o.Bound), append(gains, o.Served/o.Planned)
		tasks, copies = tasks+o.Tasks, copies+o.Copies
		if o.Ratio() > s.Worst {
			s.Worst, s.WorstSeed = o.Ratio(), o.Seed
		}
		if o.Planned > o.Served*(1+1e-9) {
			s.Worse++
			s.WorseSeeds = append(s.WorseSeeds, o.Seed)
			s.WorseMost = max(s.WorseMost, o.Planned/o.Served)
		}
	}
	s.Median, s.ServedMedian, s.Gain = measure.Median(ratios), measure.Median(served), measure.Median(gains)
	s.Copies = float64(copies) / float64(max(1, tasks))
	s.ServedMost = slices.Max(served)
	return s
}
