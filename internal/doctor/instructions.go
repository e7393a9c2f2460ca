package doctor

import (
	"context"

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
	for _, name := range []string{instructions.Variable, instructions.OldVariable} {
		if v := d.Getenv(name); v != "" {
			return ok("%s=%s is set, and stays", name, v)
		}
	}
	p, found := d.Instructions(ctx, env)
	switch said := p.Explain(found); {
	case !p.Announces() && said == "":
		return skipped("this processor announces none that need trying")
	case said == "":
		return ok("what this processor announces executes")
	case found.Lowered == "":
		return fail("run in fp32, or on another machine", "%s", said)
	default:
		return warn("set the same variable in programs of your own; a virtual machine that passes all CPUID leaves on needs none", "%s", said)
	}
}
