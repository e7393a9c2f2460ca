package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/internal/measure"
)

const harnessBar = 0.02 // of a core

// timedModels are of different families, so that their loops differ in kind.
var timedModels = []string{"bert", "t5", "vit", "whisper"}

// harness benches some models with the program itself and reads what it says
// of its own CPU time: that of assay and of the zygote while a model is timed.
func (b *bench) harness(ctx context.Context) (findings, error) {
	args := append([]string{"bench", "--platform", "cpu"}, timedModels...)
	if b.quick {
		args = []string{"bench", "--platform", "cpu", "--quick", timedModels[0]}
	}
	r, _, err := b.report(ctx, args...)
	if err != nil {
		return findings{}, err
	}
	var shares []float64
	repeats := 0
	for _, res := range r.Results {
		if res.HarnessCPUFraction != nil && res.Latency != nil {
			shares = append(shares, *res.HarnessCPUFraction)
			repeats += res.Latency.Repeats
		}
	}
	if len(shares) == 0 {
		return findings{}, errors.New("no result says what the harness used")
	}
	most := slices.Max(shares)
	row := Row{
		Name: "harness CPU while timing", Measured: fmt.Sprintf("assay and its zygote, %d bench cells, %d repeats, the worst repeat of each", len(shares), repeats),
		Value: fmt.Sprintf("%.2f %% of a core at most, median %.2f %%", 100*most, 100*measure.Median(shares)),
		Bar:   fmt.Sprintf("≤ %.0f %%", 100*harnessBar), Data: map[string]float64{"max_fraction": most, "median_fraction": measure.Median(shares)},
		Raw: map[string][]float64{"fraction": shares},
	}
	return findings{rows: []Row{row.judge(most <= harnessBar, true)}}, nil
}
