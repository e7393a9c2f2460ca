package doctor

import (
	"context"
	"syscall"

	"assay/internal/environment"
	"assay/internal/instructions"
)

// withoutAMX is a machine that announces AMX, on which torch dies in bf16.
func withoutAMX(lowered string) func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
	return func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
		return instructions.Processor{Leaf: "28", Flags: "avx2 avx512f amx_tile amx_bf16"},
			instructions.Finding{Lowered: lowered, Died: []instructions.Death{{Engine: "torch", DType: "bf16", Signal: int(syscall.SIGILL)}}}
	}
}

// untried is a machine that announces AMX, on which two trials gave no answer.
func untried(f instructions.Finding) func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
	f.Skipped = map[string]string{"torch bf16": "raised an exception", "openvino int8": "it took too long"}
	return func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
		return instructions.Processor{Flags: "avx2 avx512f amx_tile"}, f
	}
}
