package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
)

// on puts the program onto a processor with these flags.
func (p *program) on(t testing.TB, flags string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cpuinfo")
	text := "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Xeon\ncpuid level\t: 28\nflags\t\t: " + flags + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.vars["ASSAY_TEST_CPUINFO"] = file
}

const announcesAMX = "avx2 avx512f avx512_vnni avx512_bf16 avx512_fp16 amx_tile amx_bf16 amx_int8"

// TestIllegalInstruction: a cell whose child dies of an illegal instruction is
// tried once more with fewer, says so, and the host remembers it.
func TestIllegalInstruction(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.on(t, announcesAMX)
	const again = "tried again with ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16"
	plan := p.noops(t, "illegal", 1)
	out, _, status := p.run(t, "test", "--plan", plan)
	if status != exitOK || !strings.Contains(out, "works") || !strings.Contains(strings.Join(strings.Fields(out), " "), again) {
		t.Errorf("status %d: %s", status, out)
	}
	for _, res := range p.report(t, exitOK, "test", "--plan", plan).Results {
		if checkFailure(t, res, ""); res.Note != "" {
			t.Errorf("the host did not remember: %q", res.Note)
		}
	}
	checkNoneLeft(t, p)
}

// TestIllegalInstructionStays: where there is nothing lower, or where the user
// has decided, a death is a result at once.
func TestIllegalInstructionStays(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.on(t, "sse4_2 avx2")
	r := p.report(t, exitFails, "test", "--plan", p.noops(t, "illegal", 1))
	if len(r.Results) != 1 {
		t.Fatalf("%d results", len(r.Results))
	}
	if checkFailure(t, r.Results[0], cell.Crash); r.Results[0].Note != "" || !strings.HasPrefix(r.Results[0].Failure.Detail, "SIGILL") {
		t.Errorf("%q, %+v", r.Results[0].Note, r.Results[0].Failure)
	}
}
