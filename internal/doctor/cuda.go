package doctor

import (
	"context"
	"fmt"
	"strings"

	"assay/internal/environment"
	"assay/internal/platform"
)

// leastDriver is the oldest NVIDIA driver on Linux that runs programs built
// for a major version of CUDA, from NVIDIA's table of minor-version
// compatibility.
var leastDriver = map[int]environment.Version{
	11: {Major: 450, Minor: 80, Patch: 2},
	12: {Major: 525, Minor: 60, Patch: 13},
	13: {Major: 580},
}

func checkDriver(_ context.Context, d *Deps) Finding {
	switch v := d.Driver(); {
	case v != "":
		return ok("NVIDIA driver %s", v)
	case d.asked == platform.CUDA:
		return fail("install NVIDIA's driver; in a container start it with --gpus all", "there is no NVIDIA driver here")
	}
	return skipped("there is no NVIDIA driver here")
}

// checkTorchCUDA compares the driver with the CUDA that torch was built for,
// and then believes torch itself.
func checkTorchCUDA(ctx context.Context, d *Deps) Finding {
	driver := d.Driver()
	if driver == "" {
		return skipped("there is no NVIDIA driver here")
	}
	lib, problem := d.libraries(ctx)
	if problem != "" {
		return skipped("%s", problem)
	}
	if lib.CUDA == "" {
		return fail("use a Python whose torch is built for CUDA, with --python PATH", "torch %s is built without CUDA", lib.Torch)
	}
	if least, old := tooOld(driver, lib.CUDA); old {
		return fail(fmt.Sprintf("update the driver to %s or newer, or use a torch built for an older CUDA, with --python PATH", least.Short()),
			"torch %s is built for CUDA %s, which needs driver %s, and this is %s", lib.Torch, lib.CUDA, least.Short(), driver)
	}
	if len(lib.Devices) == 0 {
		return fail("see what nvidia-smi says, and CUDA_VISIBLE_DEVICES", "torch sees no GPU: %s", lib.Problem)
	}
	return ok("torch is built for CUDA %s and sees %s", lib.CUDA, strings.Join(lib.Devices, ", "))
}

// tooOld reports whether the driver cannot run programs built for that CUDA.
// What cannot be read, or is newer than the table, is taken on trust.
func tooOld(driver, cuda string) (least environment.Version, old bool) {
	built, err := environment.ParseVersion(cuda)
	if err != nil {
		return least, false
	}
	has, err := environment.ParseVersion(driver)
	least, known := leastDriver[built.Major]
	return least, err == nil && known && has.Less(least)
}
