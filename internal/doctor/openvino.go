package doctor

import (
	"context"
	"strings"

	"assay/internal/detect"
	"assay/internal/platform"
)

// sawOpenVINO is what detection says of OpenVINO, or why it cannot be asked.
func sawOpenVINO(ctx context.Context, d *Deps) (detect.Platform, *Finding) {
	env, err := d.Environment(ctx)
	if err != nil {
		f := skipped("there is no environment")
		return detect.Platform{}, &f
	}
	p := d.Platform(ctx, env, platform.OpenVINO, "openvino")
	if p.Status == detect.Present {
		return p, nil
	}
	f := skipped("OpenVINO is not installed in this Python")
	if d.asked == platform.OpenVINO {
		f = fail(env.Python+" -m pip install openvino nncf, or run assay setup", "%s", last(p.Evidence))
	}
	return p, &f
}

func checkOpenVINO(ctx context.Context, d *Deps) Finding {
	p, stop := sawOpenVINO(ctx, d)
	if stop != nil {
		return *stop
	}
	var ids []string
	for _, dev := range p.Devices {
		ids = append(ids, dev.ID+" ("+dev.Name+")")
	}
	return ok("OpenVINO %s with %s", p.Engine.Version, strings.Join(ids, ", "))
}

// checkOpenVINODrivers names GPUs and NPUs that are in the machine and that
// OpenVINO cannot reach.
func checkOpenVINODrivers(ctx context.Context, d *Deps) Finding {
	p, stop := sawOpenVINO(ctx, d)
	if stop != nil {
		return *stop
	}
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
	return ok("OpenVINO lists all that it could drive here")
}

// precisions are the capabilities by which a dtype is had, in the order of the
// platform's dtypes.
var precisions = []struct{ capability, dtype string }{{"fp32", "fp32"}, {"fp16", "fp16"}, {"bf16", "bf16"}, {"int8", "int8"}}

// checkOpenVINOPrecision says what each device computes in: what it lacks is
// refused, since OpenVINO itself would quietly take another precision.
func checkOpenVINOPrecision(ctx context.Context, d *Deps) Finding {
	p, stop := sawOpenVINO(ctx, d)
	if stop != nil {
		return *stop
	}
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
	return ok("%s; weights of 8 and 4 bits go on all", strings.Join(out, "; "))
}

func last(es []detect.Evidence) string {
	if len(es) == 0 {
		return "it was not found"
	}
	return es[len(es)-1].Detail
}
