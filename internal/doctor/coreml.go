package doctor

import "context"

// checkCoreML says whether models can be converted to Core ML, and run.
func checkCoreML(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if err != nil {
		return skipped("there is no environment")
	}
	version := env.Versions["coremltools"]
	switch system := d.Seen().OS; {
	case version == "" && system == "windows":
		return skipped("coremltools is not for Windows")
	case version == "":
		return warn(env.Python+" -m pip install coremltools, or run assay setup", "coremltools is absent: nothing can be converted for mps/coreml")
	case system == "darwin":
		return ok("coremltools %s converts models, and this system runs them", version)
	default:
		return ok("coremltools %s converts models; only macOS runs them", version)
	}
}
