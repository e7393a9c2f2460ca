package doctor

import (
	"context"
	"slices"
	"strings"

	"assay/internal/environment"
	"assay/internal/instructions"
)

// liveInstructions asks an environment's children, or remembers what they said.
func liveInstructions(ctx context.Context, env environment.Environment) (instructions.Processor, instructions.Finding) {
	return env.Processor(), env.Instructions(ctx)
}

// checkInstructions says whether what the processor announces executes.
func checkInstructions(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if err != nil {
		return skipped("there is no environment")
	}
	p, found := d.Instructions(ctx, env)
	for _, name := range []string{instructions.Variable, instructions.OldVariable} {
		if v := d.Getenv(name); v != "" {
			return checkLevel(p, name, v)
		}
	}
	switch said := p.Explain(found); {
	case len(found.Untried()) > 0:
		untried := "some instruction sets could not be checked (" + strings.Join(found.Untried(), ", ") + ")"
		return warn("run `assay detect --fresh`, which checks them again", "%s", strings.Trim(untried+"; "+said, "; "))
	case !p.Announces() && said == "":
		return skipped("this processor announces no instruction sets that need checking")
	case said == "":
		return ok("every instruction set it announces works")
	case found.Lowered == "":
		return fail("run in fp32, or on another machine", "%s", said)
	default:
		return warn("set the same variable in programs of your own; a virtual machine that passes all CPUID leaves through does not need it", "%s", said)
	}
}

// checkLevel says whether oneDNN understands what the user has set: it passes over
// other values without a word.
func checkLevel(p instructions.Processor, name, level string) Finding {
	if known := p.Known(); len(known) > 0 && !slices.Contains(known, strings.ToUpper(level)) {
		return warn("set one of "+strings.Join(known, ", ")+", or nothing", "%s=%s is set by you, but oneDNN has no such level: it is ignored", name, level)
	}
	return ok("%s=%s is set by you and left alone", name, level)
}
