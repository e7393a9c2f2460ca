package simulation

import (
	"fmt"
	"math"

	"assay/internal/fleet/placement"
)

// Bound is a time in which no policy can finish the workload: the largest of three.
// The longest task takes its time on the worker that is fastest at it. And all
// tasks together take up slots: whatever prices y are put on a slot second of each
// worker, if the slots of the fleet together are worth 1 a second, then a task costs at least
// what its cheapest worker asks, and the sum of that is a number of seconds. The best
// prices give the optimum of the linear program in which tasks may be cut into pieces; any
// prices give a bound, so that stopping the search early costs tightness, never truth.
// And a workload that is finished within T has no task on a worker where that task takes longer than T: where
// the second bound, of a fleet without those places, is above T, T is a bound too.
func Bound(load *Workload) float64 {
	groups := grouped(load, math.Inf(1))
	longest := 0.0
	for i := range load.Jobs {
		least := math.Inf(1)
		for k := range groups.members {
			if s, ok := load.seconds(i, groups.members[k]); ok {
				least = min(least, s)
			}
		}
		longest = max(longest, least)
	}
	low := max(longest, groups.area())
	for high := 2 * low; high > low*1.002; {
		t := math.Sqrt(low * high)
		if grouped(load, t).area() > t {
			low = t
		} else {
			high = t
		}
	}
	return low
}

// groups are workers that are alike, and tasks that are: the program's columns and rows.
type groups struct {
	members  []int       // a worker of each
	capacity []float64   // slots of all of them
	work     []float64   // seconds at speed 1, by row
	cost     [][]float64 // slot seconds of a second's work, by row and group; infinite where it cannot be
}

// grouped leaves out where a task takes longer than within.
func grouped(load *Workload, within float64) *groups {
	g := &groups{}
	for i := range load.Workers { // speeds are drawn, so that hardly any two are alike
		g.members = append(g.members, i)
		g.capacity = append(g.capacity, float64(max(1, load.Workers[i].Slots)))
	}
	rows := map[string]int{}
	for i := range load.Jobs {
		costs := g.costs(load, i, within)
		key := fmt.Sprintf("%.9g", costs)
		row, known := rows[key]
		if !known {
			row = len(g.work)
			rows[key] = row
			g.work = append(g.work, 0)
			g.cost = append(g.cost, costs)
		}
		g.work[row] += load.Jobs[i].Takes
	}
	return g
}

func (g *groups) costs(load *Workload, job int, within float64) []float64 {
	out := make([]float64, len(g.members))
	for k, w := range g.members {
		s, ok := load.seconds(job, w)
		if !ok || s > within {
			out[k] = math.Inf(1)
			continue
		}
		out[k] = s / load.Jobs[job].Takes
		if load.Jobs[job].Timed { // nothing else runs there
			out[k] *= g.capacity[k]
		}
	}
	return out
}

// area is the bound by prices.
func (g *groups) area() float64 {
	const rounds = 300
	return placement.Worth(g.work, g.cost, placement.Prices(g.work, g.cost, g.capacity, nil, rounds))
}
