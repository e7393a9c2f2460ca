package cell

import (
	"slices"
	"strings"
)

// accompanied names in each cell of scenario concurrent the models that run
// beside it: those of the plan's cells with the same settings. A model that has
// none runs beside itself. Cells that name their company keep it.
func accompanied(cells []Cell) []Cell {
	alike := func(c Cell) Key {
		return c.Key(AnyCheckpoint, AnyTask, func(c *Cell) { c.Type, c.Company, c.Size, c.Weights, c.Seq, c.Image = "", "", "", "", 0, 0 })
	}
	byKey := map[Key][]string{}
	for _, c := range cells {
		if c.Scenario == Concurrent {
			byKey[alike(c)] = append(byKey[alike(c)], c.Model())
		}
	}
	out := make([]Cell, len(cells))
	for i, c := range cells {
		if models := byKey[alike(c)]; c.Scenario == Concurrent && c.Company == "" {
			if len(models) == 1 {
				models = append(models, models[0])
			}
			c.Company = strings.Join(models, ", ")
		}
		out[i] = c
	}
	return out
}

// Interference is how much slower a model is beside others on its device than
// alone, in scenario concurrent: repeat by repeat, alone and then together.
type Interference struct {
	Beside  []string `json:"beside"`   // the models that ran at the same time; itself again where it had no other
	AloneMS float64  `json:"alone_ms"` // median of the repeats' medians
	Ratio   float64  `json:"ratio"`    // together over alone: median of the repeats' ratios
	Lo      *float64 `json:"lo"`       // of the median, at 95 %; nil with fewer than six repeats
	Hi      *float64 `json:"hi"`
}

// Ranks is how processes or devices shared one model's work.
type Ranks struct {
	Way     string `json:"way"`     // ddp, fsdp, tp, layers
	Procs   int    `json:"procs"`   // processes; of a layer split, devices
	Backend string `json:"backend"` // gloo, nccl; "" is none
	// Sharded says how many of the parameters are spread over the processes.
	Sharded int `json:"sharded"`
	// AloneMS is what one process took for its own share of the batch (ddp, fsdp)
	// or for the whole (tp, layers), in the same child; nil where nothing was timed.
	AloneMS *float64 `json:"alone_ms,omitempty"`
	// Efficiency is the work of all processes over that of as many alone: 1 is
	// perfect scaling.
	Efficiency *float64 `json:"efficiency,omitempty"`
}

// Others are the models beside which a cell runs: its company without itself.
func Others(c Cell) []string {
	models := strings.Split(c.Company, ", ")
	if i := slices.Index(models, c.Model()); i >= 0 {
		models = slices.Delete(models, i, i+1)
	}
	return models
}
