package matrix

import (
	"cmp"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Coverage counts how many models run on one target in one dtype at one size.
// Of several results of a model the newest counts.
type Coverage struct {
	Target string         `json:"target"`
	DType  platform.DType `json:"dtype"`
	Size   string         `json:"size"`
	Models int            `json:"models"` // with a result that says something
	// Base is how many of them run on the CPU by torch; the shares below are of these.
	Base int `json:"base"`
	// Whole run with right numbers and nothing left over; WithLeftOvers run
	// with right numbers, some operations elsewhere.
	Whole         int                       `json:"whole"`
	WithLeftOvers int                       `json:"with_left_overs"`
	WholeShare    *float64                  `json:"whole_share"` // nil without a base
	RunShare      *float64                  `json:"run_share"`   // whole or with left-overs
	Fails         map[cell.FailureClass]int `json:"fails"`
	Evidence      map[cell.Evidence]int     `json:"evidence"`
}

// spot is what a row of coverage is about.
type spot struct {
	target string
	dtype  platform.DType
	size   string
}

// Coverages counts over observations, targets in the order of platforms.
func Coverages(observations []Observation) []Coverage {
	newest := map[spot]map[string]Observation{}
	for _, x := range observations {
		s := spot{x.Cell.Target, x.Cell.DType, x.Cell.Size}
		if x.Verdict == cell.Unavailable || x.Cell.Batch > 1 || x.Broke() {
			continue
		}
		if newest[s] == nil {
			newest[s] = map[string]Observation{}
		}
		if old, ok := newest[s][x.Cell.Model()]; !ok || x.StartedAt.After(old.StartedAt) {
			newest[s][x.Cell.Model()] = x
		}
	}
	out := make([]Coverage, 0, len(newest))
	for s, models := range newest {
		out = append(out, cover(s, models, newest[spot{string(platform.CPU), platform.FP32, s.size}]))
	}
	slices.SortFunc(out, func(a, b Coverage) int {
		return cmp.Or(placeOf(a.Target)-placeOf(b.Target), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Size, b.Size), cmp.Compare(a.DType, b.DType))
	})
	return out
}

func placeOf(target string) int {
	t, err := platform.ParseTarget(target)
	if err != nil {
		return len(platform.Names())
	}
	return slices.Index(platform.Names(), t.Platform)
}

func cover(s spot, models, onCPU map[string]Observation) Coverage {
	c := Coverage{Target: s.target, DType: s.dtype, Size: s.size, Models: len(models),
		Fails: map[cell.FailureClass]int{}, Evidence: map[cell.Evidence]int{}}
	whole, left := 0, 0 // of the base
	for name, x := range models {
		_, based := onCPU[name]
		based = based && onCPU[name].Verdict != cell.Fails
		if based {
			c.Base++
		}
		c.Evidence[x.Evidence]++
		switch {
		case x.Verdict == cell.Fails && x.Failure != nil:
			c.Fails[x.Failure.Class]++
		case leavesOver(x):
			c.WithLeftOvers++
			left += count(based)
		default:
			c.Whole++
			whole += count(based)
		}
	}
	if c.Base > 0 {
		w, r := float64(whole)/float64(c.Base), float64(whole+left)/float64(c.Base)
		c.WholeShare, c.RunShare = &w, &r
	}
	return c
}

// leavesOver says whether operations ran elsewhere than asked.
func leavesOver(x Observation) bool { return x.Placement != nil && len(x.Placement.LeftOver) > 0 }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
