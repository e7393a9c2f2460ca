package session

import (
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
		Lived: func(c cell.Cell, died, lived string) {
			// A host that cannot remember tries again next time: that is no failure.
			_ = env.Remember(lived, instructions.Death{Engine: string(c.Engine), DType: string(c.DType), Level: died, Signal: int(syscall.SIGILL)})
		},
	}
}

// onHost are the engines that multiply on this machine's processor by oneDNN,
// with the device that stands for it.
var onHost = map[platform.Engine]struct {
	platform platform.Name
	device   string
}{
	platform.Torch:       {platform.CPU, ""},
	platform.EngOpenVINO: {platform.OpenVINO, "CPU"},
}

// restricted is what a target on this machine's processor is kept from; nil for
// other targets.
func restricted(env environment.Environment, t platform.Target) func() string {
	row, ok := onHost[t.Engine]
	if !ok || t.Platform != row.platform || row.device != "" && t.Device != row.device {
		return nil
	}
	return func() string { return env.Processor().Note(env.Instructions(context.Background()).Lowered) }
}
