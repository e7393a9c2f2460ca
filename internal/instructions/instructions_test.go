package instructions

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sapphire = "avx2 avx512f avx512_vnni avx512_bf16 avx512_fp16 avx_vnni amx_bf16 amx_tile amx_int8"

func TestLevels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags   string
		asked   bool
		levels  string
		below   string // of none
		further string // of that
	}{
		{"", false, "", "", ""},
		{"sse4_2 avx2 fma", false, "", "", ""},
		{"avx2 avx_vnni", false, "AVX2", "AVX2", ""},
		{"avx2 avx512f", false, "AVX2", "AVX2", ""},
		{"avx2 avx512f avx512_vnni", false, "AVX512_CORE AVX2", "AVX512_CORE", "AVX2"},
		{"avx2 avx512f avx512_vnni avx512_bf16", true, "AVX512_CORE_VNNI AVX512_CORE AVX2", "AVX512_CORE_VNNI", "AVX512_CORE"},
		{"avx512f avx512_fp16", true, "AVX512_CORE_BF16 AVX512_CORE_VNNI AVX512_CORE AVX2", "AVX512_CORE_BF16", "AVX512_CORE_VNNI"},
		{sapphire, true, "AVX512_CORE_FP16 AVX512_CORE_BF16 AVX512_CORE_VNNI AVX512_CORE AVX2", "AVX512_CORE_FP16", "AVX512_CORE_BF16"},
	} {
		p := Processor{Flags: c.flags}
		if got := strings.Join(p.Levels(), " "); got != c.levels || p.Announces() != c.asked {
			t.Errorf("%q: levels %q, asked %v; want %q, %v", c.flags, got, p.Announces(), c.levels, c.asked)
		}
		if got := p.Below(""); got != c.below {
			t.Errorf("%q: below nothing is %q, want %q", c.flags, got, c.below)
		}
		if got := p.Below(c.below); c.below != "" && got != c.further {
			t.Errorf("%q: below %s is %q, want %q", c.flags, c.below, got, c.further)
		}
	}
	if got := (Processor{Flags: sapphire}).Below("AVX2"); got != "" {
		t.Errorf("below the last level is %q", got)
	}
}

func TestWhatIsOff(t *testing.T) {
	t.Parallel()
	p := Processor{Flags: sapphire}
	for level, want := range map[string]struct{ off, note string }{
		"":                 {"", ""},
		"AVX512_CORE_FP16": {"amx_tile amx_bf16 amx_int8", "AMX is off: this processor announces it and cannot execute it"},
		"AVX512_CORE_BF16": {"amx_tile amx_bf16 amx_int8 avx512_fp16", "AMX and AVX-512 FP16 are off: this processor announces them and cannot execute them"},
	} {
		if got := strings.Join(p.Off(level), " "); got != want.off {
			t.Errorf("%q leaves out %q, want %q", level, got, want.off)
		}
		if got := p.Note(level); got != want.note {
			t.Errorf("%q: %q, want %q", level, got, want.note)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	died := []Death{{"torch", "bf16", "", 4}, {"openvino", "int8", "", 4}, {"openvino", "int8", "AVX512_CORE_FP16", 4}}
	for _, c := range []struct {
		name string
		p    Processor
		f    Finding
		want string
	}{
		{"nothing died", Processor{Flags: sapphire}, Finding{}, ""},
		{"all leaves there", Processor{Flags: sapphire, Leaf: "32"}, Finding{Lowered: "AVX512_CORE_BF16", Died: died},
			"torch bf16, openvino int8 died of SIGILL; AMX and AVX-512 FP16 are off: this processor announces them and cannot execute them; every child runs with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"},
		{"leaves hidden", Processor{Flags: sapphire, Leaf: "28"}, Finding{Lowered: "AVX512_CORE_FP16", Died: died[:1]},
			"torch bf16 died of SIGILL; AMX is off: this processor announces it and cannot execute it; every child runs with ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16; " +
				"its CPUID ends at leaf 0x1c, so the palettes of leaves 0x1d and 0x1e, which set up AMX's tiles, cannot be read"},
		{"nothing helps", Processor{Flags: "avx512_bf16", Leaf: "16"}, Finding{Died: died[:1]}, "torch bf16 died of SIGILL; no lower set of instructions helps"},
	} {
		if got := c.p.Explain(c.f); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// captured is the processor of a captured machine.
func captured(t *testing.T, machine string) (string, Processor) {
	t.Helper()
	text, err := os.ReadFile("../detect/testdata/machines/" + machine + "/root.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "-- proc/cpuinfo --\n")
	info, _, _ := strings.Cut(text2, "\n-- ")
	file := filepath.Join(t.TempDir(), "cpuinfo")
	if err := os.WriteFile(file, []byte(info+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, Read(file)
}

func TestRead(t *testing.T) {
	t.Parallel()
	_, p := captured(t, "xeon-vm-amx")
	if p.Family != "6" || p.Model != "207" || p.Leaf != "28" || p.Vendor != "GenuineIntel" || !p.Announces() || p.Below("") != "AVX512_CORE_FP16" {
		t.Errorf("%+v", p)
	}
	if p := Read(filepath.Join(t.TempDir(), "none")); p != (Processor{}) {
		t.Errorf("a file that is not there gives %+v", p)
	}
}

// TestPythonAgrees: the Python package names a finding's file and orders the
// levels as this one does, since both use the same memory.
func TestPythonAgrees(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 is on PATH")
	}
	const question = `import json, sys, pathlib
from assay_runner.machine import instructions as i
p = i.processor(pathlib.Path(sys.argv[1]))
print(json.dumps([i.key(p, "/env/bin/python", {"torch": "2.15.0", "numpy": "2"}), p.announces, p.levels(), i.VARIABLE, i.OLD_VARIABLE]))`
	for _, machine := range []string{"xeon-vm-amx", "h200", "epyc-vm", "snapdragon-x"} {
		file, p := captured(t, machine)
		cmd := exec.Command(python, "-c", question, file)
		cmd.Env = append(os.Environ(), "PYTHONPATH=../../runtimes/python", "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		levels := p.Levels()
		if levels == nil {
			levels = []string{}
		}
		want, err := json.Marshal([]any{Key(p, "/env/bin/python", map[string]string{"torch": "2.15.0", "numpy": "2"}), p.Announces(), levels, Variable, OldVariable})
		if err != nil {
			t.Fatal(err)
		}
		var a, b []any
		if json.Unmarshal(out, &a) != nil || json.Unmarshal(want, &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("%s: Python says %s, want %s", machine, out, want)
		}
	}
}
