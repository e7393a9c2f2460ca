package doctor

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"assay/internal/platform"
)

// checkKFD looks for AMD's compute driver and opens it as the runtime will.
func checkKFD(_ context.Context, d *Deps) Finding {
	seen := d.Seen().Platforms[platform.ROCm]
	switch {
	case len(seen.Hardware) == 0 && d.asked == platform.ROCm:
		return fail("use a machine with an AMD GPU that ROCm supports; what would run there is derived: assay test MODEL --platform rocm", "there is no AMD GPU here")
	case len(seen.Hardware) == 0:
		return skipped("there is no AMD GPU here")
	}
	err := d.OpenKFD()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fail("add the user to the group that owns it: sudo usermod -a -G render,video $USER, then log in again", "/dev/kfd may not be opened: %v", err)
	case errors.Is(err, fs.ErrNotExist):
		return fail("install AMD's amdgpu driver with KFD; start a container with --device /dev/kfd --device /dev/dri", "%s, and there is no /dev/kfd", strings.Join(seen.Hardware, ", "))
	case err != nil:
		return fail("see what rocminfo and dmesg say about amdgpu", "/dev/kfd cannot be opened: %v", err)
	case seen.Missing != "":
		return fail(seen.Hint, "%s", seen.Missing)
	}
	return ok("%s, /dev/kfd can be opened", strings.Join(seen.Hardware, ", "))
}

func checkTorchROCm(ctx context.Context, d *Deps) Finding {
	if len(d.Seen().Platforms[platform.ROCm].Hardware) == 0 {
		return skipped("there is no AMD GPU here")
	}
	lib, problem := d.libraries(ctx)
	switch {
	case problem != "":
		return skipped("%s", problem)
	case lib.HIP == "":
		return fail("install PyTorch's ROCm build in a Python of your own and name it with --python PATH", "torch %s is not built for ROCm", lib.Torch)
	case len(lib.Devices) == 0:
		return fail("see what rocminfo says, and the variables that hide devices", "torch is built for ROCm (HIP %s) and sees no GPU: %s", lib.HIP, lib.Problem)
	}
	return ok("torch is built for ROCm (HIP %s) and sees %s", lib.HIP, strings.Join(lib.Devices, ", "))
}

// hidingROCm are the variables by which AMD's runtimes choose devices, or take
// one for another.
var hidingROCm = []string{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"}

func checkVariablesROCm(_ context.Context, d *Deps) Finding {
	if len(d.Seen().Platforms[platform.ROCm].Hardware) == 0 {
		return skipped("there is no AMD GPU here")
	}
	var set []string
	for _, name := range hidingROCm {
		if v := d.Getenv(name); v != "" {
			set = append(set, name+"="+v)
		}
	}
	if len(set) == 0 {
		return ok("no variable hides a device")
	}
	return warn("unset them if a device is missing: together they filter twice, the second among what the first leaves", "%s", strings.Join(set, ", "))
}
