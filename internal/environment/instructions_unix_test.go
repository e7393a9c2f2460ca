//go:build unix

package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/instructions"
)

// trying is a Maker on a processor that announces AMX, with a user's Python that
// says the given of its instruction sets, and notes each time it is asked.
func trying(t *testing.T, flags, says string, environ ...string) (m *Maker, python string, asked func() int) {
	t.Helper()
	dir := t.TempDir()
	python, note, cpuinfo := filepath.Join(dir, "venv", "bin", "python"), filepath.Join(dir, "asked"), filepath.Join(dir, "cpuinfo")
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in
*-c*) echo '{"path":"%s","version":"3.12.1","bits":64,"name":"CPython"}' ;;
*version) echo '{"versions":{"python":"3.12.1","torch":"2.15.0"},"missing":[]}' ;;
*instructions*) echo "$* [$ONEDNN_MAX_CPU_ISA]" >>%s; %s ;;
esac
`, python, note, says)
	for file, text := range map[string]string{python: script, cpuinfo: "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: " + flags + "\n"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folders := under(filepath.Join(dir, "home"), true)
	if err := folders.Create(); err != nil {
		t.Fatal(err)
	}
	environ = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	return New(folders, environ, func(string) {}).OnProcessor(cpuinfo), python, func() int {
		text, err := os.ReadFile(note)
		if err != nil {
			return 0
		}
		if strings.Contains(string(text), "[A") {
			t.Errorf("it was asked with the variable set: %s", text)
		}
		return strings.Count(string(text), "\n")
	}
}

const (
	amx      = "avx2 avx512f avx512_fp16 amx_tile amx_bf16"
	diesInIt = `echo '{"lowered":"AVX512_CORE_FP16","died":[{"engine":"torch","dtype":"bf16","level":"","signal":4}]}'`
	lives    = `echo '{"lowered":"","died":[]}'`
)

// level opens the environment again, as another command does, and returns the
// variable that its children get.
func level(t *testing.T, m *Maker, python string) string {
	t.Helper()
	env, err := m.Open(t.Context(), Choice{Python: python})
	if err != nil {
		t.Fatal(err)
	}
	got := lookup(env.Environ(t.Context()))(instructions.Variable)
	if cmd := env.Command(t.Context(), "x"); !slices.Equal(cmd.Env, env.Environ(t.Context())) {
		t.Error("a command's variables differ from the runner's")
	}
	return got
}

// TestEveryChildIsLowered: a processor that dies is asked once, and all children
// of this and of later commands get the variable.
func TestEveryChildIsLowered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flags, says string
		environ           []string
		want              string
		asked             int // over three openings
	}{
		{"it dies", amx, diesInIt, nil, "AVX512_CORE_FP16", 1},
		{"it lives", amx, lives, nil, "", 1},
		{"nothing is announced", "avx2 avx512f", diesInIt, nil, "", 0},
		{"the user has set it", amx, diesInIt, []string{"ONEDNN_MAX_CPU_ISA=AVX2"}, "AVX2", 0},
		{"the user has set the old one", amx, diesInIt, []string{"DNNL_MAX_CPU_ISA=AVX2"}, "", 0},
		{"no answer", amx, "exit 3", nil, "", 3},
		{"garbage", amx, "echo '{\"lowered\":\"SSE9\"}'", nil, "", 3},
		{"a level without a death", amx, "echo '{\"lowered\":\"AVX2\",\"died\":[]}'", nil, "", 3},
		{"not in full", amx, `echo '{"lowered":"","died":[],"skipped":{"torch bf16":"it took too long"}}'`, nil, "", 3},
		{"it dies, not in full", amx, strings.Replace(diesInIt, "}]}", `}],"skipped":{"openvino int8":"it took too long"}}`, 1), nil, "AVX512_CORE_FP16", 3},
		{"one is absent", amx, `echo '{"lowered":"","died":[],"skipped":{"openvino int8":"not installed"}}'`, nil, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, python, asked := trying(t, c.flags, c.says, c.environ...)
			for range 3 {
				if got := level(t, m, python); got != c.want {
					t.Errorf("the variable is %q, want %q", got, c.want)
				}
			}
			if n := asked(); n != c.asked {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
		})
	}
}

// TestOpeningAsksNothing: a command that starts no child pays nothing, and one
// that computes nothing tries nothing.
func TestOpeningAsksNothing(t *testing.T) {
	t.Parallel()
	m, python, asked := trying(t, amx, diesInIt)
	if _, err := m.Open(t.Context(), Choice{Python: python}); err != nil {
		t.Fatal(err)
	}
	bare, err := m.Bare(t.Context(), Choice{Python: python})
	if err != nil {
		t.Fatal(err)
	}
	if got := lookup(bare.Environ(t.Context()))(instructions.Variable); got != "" || asked() != 0 {
		t.Errorf("asked %d times, and the variable is %q", asked(), got)
	}
}

// TestAskingIsStopped: half an answer is none, is not remembered, and nobody goes
// on with it.
func TestAskingIsStopped(t *testing.T) {
	t.Parallel()
	m, python, asked := trying(t, amx, "sleep 60 & wait")
	env, err := m.Open(t.Context(), Choice{Python: python})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		for asked() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel(errors.New("stopped"))
	}()
	if f := env.Instructions(ctx); f.Lowered != "" || env.host.settled {
		t.Errorf("a stopped question left %+v", f)
	}
	if left, err := os.ReadDir(m.folders.instructions()); err == nil || asked() != 1 {
		t.Errorf("%d files are kept, asked %d times", len(left), asked())
	}
	if left := processesOf(t, filepath.Dir(filepath.Dir(filepath.Dir(python)))); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// processesOf are the command lines of running processes that name a folder, and
// of those in groups with them; empty where there is no /proc.
func processesOf(t *testing.T, folder string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range all {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), folder) {
			line, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			if err == nil && len(line) > 0 {
				out = append(out, string(line))
			}
		}
	}
	return out
}

// TestRememberSideBySide: of two programs on one host the lowest level stays, and
// a death is kept once.
func TestRememberSideBySide(t *testing.T) {
	t.Parallel()
	m, python, _ := trying(t, amx, lives)
	var programs [2]Environment
	for i := range programs {
		env, err := m.Open(t.Context(), Choice{Python: python})
		if err != nil {
			t.Fatal(err)
		}
		env.Instructions(t.Context())
		programs[i] = env
	}
	death := instructions.Death{Engine: "torch", DType: "bf16", Signal: 4}
	for i, lived := range []string{"AVX512_CORE_BF16", "AVX512_CORE_FP16", "AVX512_CORE_FP16"} {
		if err := programs[i%2].Remember(lived, death); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range programs {
		if got := p.Instructions(t.Context()); got.Lowered != "AVX512_CORE_BF16" || len(got.Died) != 1 {
			t.Errorf("program %d has %+v", i, got)
		}
	}
	if got := level(t, m, python); got != "AVX512_CORE_BF16" {
		t.Errorf("the next program's children get %q", got)
	}
	if err := programs[0].ForgetInstructions(); err != nil {
		t.Fatal(err)
	}
	if got := level(t, m, python); got != "" || programs[0].Instructions(t.Context()).Lowered != "" {
		t.Errorf("after forgetting it is %q", got)
	}
}

// TestACacheThatCannotBeWritten: what was found holds anyway, and the
// message says so.
func TestACacheThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	m, python, _ := trying(t, amx, diesInIt)
	if err := os.WriteFile(m.folders.instructions(), []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	m.say = func(text string) { said = append(said, text) }
	if got := level(t, m, python); got != "AVX512_CORE_FP16" {
		t.Errorf("the children get %q", got)
	}
	if len(said) == 0 || !strings.Contains(said[len(said)-1], "could not be saved and is tried again next time") {
		t.Errorf("it says %q", said)
	}
}

// TestRemember: what a job has shown holds for all children after it.
func TestRemember(t *testing.T) {
	t.Parallel()
	m, python, asked := trying(t, amx, lives)
	env, err := m.Open(t.Context(), Choice{Python: python})
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Below(env.Instructions(t.Context()).Lowered); got != "AVX512_CORE_FP16" {
		t.Fatalf("below nothing is %q", got)
	}
	death := instructions.Death{Engine: "torch", DType: "bf16", Signal: 4}
	// Of two jobs in parallel the second to be through began at a higher level.
	for _, lived := range []string{"AVX512_CORE_BF16", "AVX512_CORE_FP16"} {
		if err := env.Remember(lived, death); err != nil {
			t.Fatal(err)
		}
	}
	if got := lookup(env.Environ(t.Context()))(instructions.Variable); got != "AVX512_CORE_BF16" {
		t.Errorf("the next child gets %q", got)
	}
	if got := level(t, m, python); got != "AVX512_CORE_BF16" || asked() != 1 {
		t.Errorf("the next command's children get %q, asked %d times", got, asked())
	}
}
