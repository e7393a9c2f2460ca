package tune

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/detect"
	"assay/internal/platform"
)

// Questions are which questions are asked.
type Questions struct{ Warm, Load, Kernels bool }

// Settle fills in what is asked about when nobody says: kernels where no model
// is named, the other two where one is.
func (q Questions) Settle(models []string) Questions {
	switch {
	case q != Questions{}:
	case len(models) > 0:
		q.Warm, q.Load = true, true
	default:
		q.Kernels = true
	}
	return q
}

// The models that are asked about when nobody names any: the smallest of the
// key ones, and one that falls into two parts.
const (
	WarmModel = "bert"
	LoadModel = "clip"
)

// Targets reads the names of targets, all in browsers and of some use to the
// questions.
func (q Questions) Targets(names []string) ([]platform.Target, error) {
	var out []platform.Target
	for _, name := range names {
		t, err := platform.ParseTarget(name)
		if err != nil {
			return nil, err
		}
		if t = t.Normal(); !t.Engine.Traits().Pages {
			return nil, fmt.Errorf("%s does not run in a browser: the web targets are webgpu, webnn and cpu/wasm", name)
		}
		if err := detect.Known(t); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if !q.Warm && !q.Load && !slices.ContainsFunc(out, hasKernels) {
		return nil, errors.New("only webgpu has kernels to tune: use --platform webgpu, or name a model for --warm or --parallel-load")
	}
	return out, nil
}

func hasKernels(t platform.Target) bool { return t.Platform == platform.WebGPU }
