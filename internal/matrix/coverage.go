package matrix

import (
	"cmp"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Coverage counts how many models run on one target in one dtype at one size.
// Of several results of a model the newest counts. Each model is in one of the
// counts from Whole to Fails.
type Coverage struct {
	Target string         `json:"target"`
	DType  platform.DType `json:"dtype"`
	Size   string         `json:"size"`
	Models int            `json:"models"` // with a result that says something
	// Base is how many of them were run there and run on the CPU by torch; the
	// shares below are of these.
	Base          int `json:"base"`
	Whole         int `json:"whole"`           // work: right numbers, and nothing left over
	Limited       int `json:"limited"`         // right only while some inputs keep the exported values, or lead to the same choices
	WithLeftOvers int `json:"with_left_overs"` // right, some operations elsewhere
	OtherPartial  int `json:"other_partial"`   // partial for another reason: the check could not be made, or is weak
	ShouldWork    int `json:"should_work"`     // were not run: their verdict is derived, predicted or of a compiled model
	// OtherSetting of those that ran are right only with a setting other than the
	// engine's default, which gives wrong numbers.
	OtherSetting int                       `json:"other_setting"`
	WholeShare   *float64                  `json:"whole_share"` // nil without a base
	RunShare     *float64                  `json:"run_share"`   // whole or partial
	Fails        map[cell.FailureClass]int `json:"fails"`
	Evidence     map[cell.Evidence]int     `json:"evidence"`
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
		return platform.Name("").Place()
	}
	return t.Platform.Place()
}

func cover(s spot, models, onCPU map[string]Observation) Coverage {
	c := Coverage{Target: s.target, DType: s.dtype, Size: s.size, Models: len(models),
		Fails: map[cell.FailureClass]int{}, Evidence: map[cell.Evidence]int{}}
	whole, partial := 0, 0 // of the base
	for name, x := range models {
		onCPU, based := onCPU[name]
		based = based && onCPU.Verdict != cell.Fails && !x.Evidence.Unrun()
		c.Base += count(based)
		c.Evidence[x.Evidence]++
		c.OtherSetting += count(x.Verdict != cell.Fails && x.Rescued())
		of := c.add(x)
		whole += count(based && of == &c.Whole)
		partial += count(based && of != &c.Whole && of != nil)
	}
	if c.Base > 0 {
		w, r := float64(whole)/float64(c.Base), float64(whole+partial)/float64(c.Base)
		c.WholeShare, c.RunShare = &w, &r
	}
	return c
}

// add counts an observation and returns where; nil is among those that fail. A
// graph that is limited counts as that wherever its operations ran: it says more
// about what the model can be used for.
func (c *Coverage) add(x Observation) *int {
	var of *int
	switch {
	case x.Verdict == cell.Fails:
		if x.Failure != nil {
			c.Fails[x.Failure.Class]++
		}
		return nil
	case x.Evidence.Unrun():
		of = &c.ShouldWork
	case x.Export.Limited():
		of = &c.Limited
	case x.Placement.LeavesOver(x.Cell):
		of = &c.WithLeftOvers
	case x.Verdict == cell.Partial:
		of = &c.OtherPartial
	default:
		of = &c.Whole
	}
	*of++
	return of
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
