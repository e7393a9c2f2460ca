package doctor

import (
	"context"
	"slices"

	"assay/internal/detect"
	"assay/internal/platform"
)

// checkQNN says whether Qualcomm's provider and its library are there, and
// whether they drive a device or the emulator.
func checkQNN(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if err != nil {
		return skipped("there is no environment")
	}
	p := d.Platform(ctx, env, platform.QNN, "onnxruntime")
	if p.Status != detect.Present {
		if d.asked != platform.QNN {
			return skipped("%s", last(p.Evidence))
		}
		return fail(p.Hint, "%s", last(p.Evidence))
	}
	version := ""
	if p.Engine != nil {
		version = p.Engine.Version
	}
	if slices.ContainsFunc(p.Devices, func(dev detect.Device) bool { return !dev.Software }) {
		return ok("QNN %s drives %s", version, p.Devices[0].Name)
	}
	return ok("QNN %s with Qualcomm's emulator for %d systems: its results are emulated, and its times never ranked", version, len(p.Devices))
}
