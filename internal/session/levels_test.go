package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/instructions"
	"assay/internal/platform"
	"assay/internal/runner"
)

// onFaulty is a Bare environment on a processor that announces AMX.
func onFaulty(t *testing.T, home string, environ ...string) environment.Environment {
	t.Helper()
	cpuinfo := filepath.Join(t.TempDir(), "cpuinfo")
	if err := os.WriteFile(cpuinfo, []byte("processor\t: 0\nflags\t\t: avx2 avx512f amx_tile\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folders, err := environment.FindFolders(func(name string) string { return map[string]string{"ASSAY_HOME": home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	own := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, instructions.Variable+"=") || strings.HasPrefix(kv, instructions.OldVariable+"=")
	})
	m := environment.New(folders, append(own, environ...), func(string) {}).OnProcessor(cpuinfo)
	env, err := m.Bare(t.Context(), environment.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestLevels: what a job's child has shown is the level of every later one, in
// this session and in others on the same host.
func TestLevels(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	l := levels(onFaulty(t, home))
	if l.Now() != "" || l.Below("") != "AVX512_CORE_FP16" || l.Variable != "ONEDNN_MAX_CPU_ISA" {
		t.Fatalf("%q, then %q", l.Now(), l.Below(""))
	}
	l.Lived(cell.Cell{Engine: platform.Torch, DType: platform.BF16}, "", "AVX512_CORE_FP16")
	found := onFaulty(t, home).Instructions(t.Context())
	if l.Now() != "AVX512_CORE_FP16" || found.Lowered != l.Now() || found.Died[0] != (instructions.Death{Engine: "torch", DType: "bf16", Signal: 4}) {
		t.Errorf("%q, remembered %+v", l.Now(), found)
	}
	if l := levels(onFaulty(t, t.TempDir(), "ONEDNN_MAX_CPU_ISA=AVX512_CORE")); l.Below("") != "" || l.Now() != "" {
		t.Error("the user's own level is lowered")
	}
}

// TestRestricted: what runs on the host's processor by oneDNN says what is off, and
// nothing else is tried again.
func TestRestricted(t *testing.T) {
	t.Parallel()
	env := onFaulty(t, t.TempDir())
	for name, want := range map[string]bool{"cpu": true, "openvino": true, "openvino:GPU": false, "cuda": false, "cpu/onnxruntime": false, "qnn": false} {
		target, err := platform.ParseTarget(name)
		if err != nil {
			t.Fatal(err)
		}
		says := restricted(env, target.Normal())
		if (says != nil) != want {
			t.Errorf("%s: it may say something: %v, want %v", name, says != nil, want)
		}
		if says != nil && (says("") != "" || !strings.HasPrefix(says("AVX512_CORE_FP16"), "AMX is off")) {
			t.Errorf("%s: without a level %q, with one %q", name, says(""), says("AVX512_CORE_FP16"))
		}
		for _, kind := range []runner.JobKind{runner.CheckJob, runner.TimeJob} {
			job := runner.Job{Kind: kind, Cell: cell.Cell{Platform: target.Platform, Engine: target.Normal().Engine, Device: target.Normal().Device}}
			if levels(env).Bounds(job) != want {
				t.Errorf("%s: a %s that dies is tried again: %v, want %v", name, kind, !want, want)
			}
		}
	}
	for kind, want := range map[runner.JobKind]bool{runner.RecipeJob: true, runner.PartsJob: true, runner.ProbeJob: false, runner.CatalogJob: false, runner.CompareJob: false} {
		if levels(env).Bounds(runner.Job{Kind: kind}) != want {
			t.Errorf("a %s that dies is tried again: %v, want %v", kind, !want, want)
		}
	}
}
