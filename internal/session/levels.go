package session

import (
	"cmp"
	"context"
	"syscall"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/instructions"
	"assay/internal/platform"
	"assay/internal/runner"
)

// levels is what the jobs of an environment are given of the instruction sets
// that the processor announces.
func levels(env environment.Environment) runner.Levels {
	return runner.Levels{
		Variable: instructions.Variable,
		Now:      func() string { return env.Instructions(context.Background()).Lowered },
		Below:    env.Below,
		Bounds:   bounded,
		Lived: func(c cell.Cell, died, lived string) {
			// A host that cannot remember tries again next time: that is not a failure.
			_ = env.Remember(lived, instructions.Death{Engine: cmp.Or(string(c.Engine), string(platform.Torch)), DType: string(c.DType), Level: died, Signal: int(syscall.SIGILL)})
		},
	}
}

// byTorch are the jobs of no target that compute by torch on the host. No-ops are
// there to try Assay itself.
var byTorch = map[runner.JobKind]bool{runner.RecipeJob: true, runner.FactsJob: true, runner.DeriveJob: true, runner.PartsJob: true, runner.NoopJob: true}

// bounded reports whether the variable bounds what a job computes with. Libraries
// trap for reasons of their own, and those of other devices do not read the
// variable: one lucky second try there would lower the host for ever.
func bounded(job runner.Job) bool {
	if job.Kind == runner.CheckJob || job.Kind == runner.TimeJob {
		return job.Cell.Where().OnProcessor()
	}
	return byTorch[job.Kind]
}

// restricted is what a target on this machine's processor is kept from; nil for
// other targets.
func restricted(env environment.Environment, t platform.Target) func(level string) string {
	if !t.OnProcessor() {
		return nil
	}
	return env.Processor().Note
}
