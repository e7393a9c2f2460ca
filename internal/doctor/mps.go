package doctor

import (
	"context"
	"strconv"
	"strings"

	"assay/internal/platform"
)

// leastMacOS is the oldest release on which torch's MPS builds run.
const leastMacOS = 14

// checkMacOS looks for an Apple GPU and a system that lets torch use it.
func checkMacOS(_ context.Context, d *Deps) Finding {
	s := d.Seen()
	gpus := s.Platforms[platform.MPS].Hardware
	switch {
	case len(gpus) == 0 && d.asked == platform.MPS:
		return fail("use a Mac with an Apple M-series chip; what would run there is derived: assay test MODEL --platform mps",
			"there is no Apple GPU here: the system is %s", s.OS)
	case len(gpus) == 0:
		return skipped("there is no Apple GPU here")
	}
	major, _, _ := strings.Cut(s.Kernel, ".")
	if n, err := strconv.Atoi(major); err == nil && n < leastMacOS {
		return fail("update macOS to "+strconv.Itoa(leastMacOS)+" or newer", "%s with macOS %s, which torch's MPS does not run on", strings.Join(gpus, ", "), s.Kernel)
	}
	return ok("%s, macOS %s", strings.Join(gpus, ", "), s.Kernel)
}

func checkTorchMPS(ctx context.Context, d *Deps) Finding {
	if len(d.Seen().Platforms[platform.MPS].Hardware) == 0 {
		return skipped("there is no Apple GPU here")
	}
	lib, problem := d.libraries(ctx)
	switch {
	case problem != "":
		return skipped("%s", problem)
	case !lib.MPS.Built:
		return fail("use a Python for arm64 (not one that runs under Rosetta) and its build of torch", "torch %s is built without MPS", lib.Torch)
	case !lib.MPS.Available:
		return fail("update macOS; over ssh or in a virtual machine the GPU may be out of reach", "torch %s has MPS, and says that it is not available", lib.Torch)
	}
	return ok("torch %s is built with MPS, and it is available", lib.Torch)
}

// fallbackVariable lets torch run operators that MPS lacks on the CPU.
const fallbackVariable = "PYTORCH_ENABLE_MPS_FALLBACK"

func checkFallbackMPS(_ context.Context, d *Deps) Finding {
	if len(d.Seen().Platforms[platform.MPS].Hardware) == 0 {
		return skipped("there is no Apple GPU here")
	}
	if v := d.Getenv(fallbackVariable); v != "" && v != "0" {
		return warn("unset it to learn which models run entirely on the GPU", "%s=%s: operators that MPS lacks run on the CPU, and such results are partial", fallbackVariable, v)
	}
	return ok("%s is not set: an operator that MPS lacks is a failure that names it", fallbackVariable)
}
