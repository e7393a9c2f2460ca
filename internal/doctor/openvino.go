package doctor

import (
	"context"
	"strings"

	"assay/internal/detect"
	"assay/internal/platform"
)

// ofOpenVINO is a check of what detection says of OpenVINO; it is passed over
// where there is none to ask.
func ofOpenVINO(look func(detect.Platform) Finding) func(context.Context, *Deps) Finding {
	return func(ctx context.Context, d *Deps) Finding {
		env, err := d.Environment(ctx)
		if err != nil {
			return skipped("there is no environment")
		}
		p := d.Platform(ctx, env, platform.OpenVINO, "openvino")
		switch {
		case p.Status == detect.Present:
			return look(p)
		case d.asked == platform.OpenVINO:
			return fail(env.Python+" -m pip install openvino nncf, or run assay setup", "%s", last(p.Evidence))
		}
		return skipped("OpenVINO is not installed in this Python")
	}
}

func checkOpenVINO(p detect.Platform) Finding {
	var ids []string
	for _, dev := range p.Devices {
		ids = append(ids, dev.ID+" ("+dev.Name+")")
	}
	return ok("OpenVINO %s with %s", p.Engine.Version, strings.Join(ids, ", "))
}

// checkOpenVINODrivers names GPUs and NPUs that are in the machine and that
// OpenVINO cannot reach.
func checkOpenVINODrivers(p detect.Platform) Finding {
	var unreached []string
	for _, e := range p.Evidence {
		if strings.Contains(e.Detail, detect.Unlisted) {
			unreached = append(unreached, e.Detail)
		}
	}
	if len(unreached) > 0 {
		return warn("install Intel's compute runtime (intel-opencl-icd, level-zero) for a GPU or the linux-npu-driver for an NPU, and be in the group render",
			"%s", strings.Join(unreached, "; "))
	}
	return ok("OpenVINO lists every device that it can drive here")
}

// precisions are the capabilities by which a dtype is had, in the order of the
// platform's dtypes.
var precisions = []struct{ capability, dtype string }{{"fp32", "fp32"}, {"fp16", "fp16"}, {"bf16", "bf16"}, {"int8", "int8"}}

// checkOpenVINOPrecision says what each device computes in: what it lacks is
// refused, since OpenVINO itself would quietly take another precision.
func checkOpenVINOPrecision(p detect.Platform) Finding {
	var out []string
	for _, dev := range p.Devices {
		var has []string
		for _, x := range precisions {
			for _, f := range dev.Features {
				if f == x.capability {
					has = append(has, x.dtype)
				}
			}
		}
		out = append(out, dev.ID+" computes in "+strings.Join(has, ", "))
	}
	return ok("%s; 8-bit and 4-bit weights work on all", strings.Join(out, "; "))
}

func last(es []detect.Evidence) string {
	if len(es) == 0 {
		return "it was not found"
	}
	return es[len(es)-1].Detail
}
