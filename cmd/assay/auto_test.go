package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/detect"
)

// On a machine with an NVIDIA GPU auto means CUDA: the plan is made without
// asking anything of the machine that runs this test.
func TestAutoOnACUDAMachine(t *testing.T) {
	t.Parallel()
	vars := variables(t, t.TempDir())
	if err := os.MkdirAll(vars["TMPDIR"], 0o755); err != nil {
		t.Fatal(err)
	}
	for machine, want := range map[string]string{
		"h200":     "platform auto is cuda here: cuda (NVIDIA H200) is the first present",
		"mi300x":   "platform auto is rocm here: rocm (AMD Instinct MI300X) is the first present",
		"epyc-vm":  "platform auto is cpu here",
		"apple-m3": "platform auto is mps here",
	} {
		m, answers, err := detect.Open(filepath.Join("../../internal/detect/testdata/machines", machine))
		if err != nil {
			t.Fatal(err)
		}
		e, _, stderr := capturedEnv(t, vars, m, answers)
		// There is no environment to run it in: what auto means is said before.
		status := run(t.Context(), e, []string{"test", "bert", "--platform", "auto", "--no-setup"})
		if status != exitProgram || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: status %d\n%s", machine, status, stderr.String())
		}
	}
}

// capturedEnv is the outside on a captured machine, and what a command prints.
func capturedEnv(t *testing.T, vars map[string]string, m *detect.Machine, answers detect.Answers) (e *env, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return &env{
		stdin: strings.NewReader(""), stdout: stdout, stderr: stderr, machine: m, engines: answers, cpuinfo: os.DevNull,
		getenv: func(name string) string { return vars[name] },
		environ: func() (out []string) {
			for name, value := range vars {
				out = append(out, name+"="+value)
			}
			return out
		},
	}, stdout, stderr
}

// Detect, generate and import look at the machine that they are given, as running
// cells does.
func TestEveryCommandLooksAtTheGivenMachine(t *testing.T) {
	t.Parallel()
	vars := variables(t, t.TempDir())
	if err := os.MkdirAll(vars["TMPDIR"], 0o755); err != nil {
		t.Fatal(err)
	}
	m, answers, err := detect.Open("../../internal/detect/testdata/machines/h200")
	if err != nil {
		t.Fatal(err)
	}
	e, stdout, stderr := capturedEnv(t, vars, m, answers)
	if status := run(t.Context(), e, []string{"detect", "--platform", "cuda", "--json"}); status != exitOK || !strings.Contains(stdout.String(), "NVIDIA H200") {
		t.Errorf("detect: status %d\n%s%s", status, stdout, stderr)
	}
	e, _, stderr = capturedEnv(t, vars, m, answers)
	tests := filepath.Join(t.TempDir(), "tests")
	if status := run(t.Context(), e, []string{"generate", "test", "bert", "--platform", "auto", "--out", tests}); status != exitOK {
		t.Errorf("generate: status %d\n%s", status, stderr)
	}
	if b, err := os.ReadFile(filepath.Join(tests, "test_hf_bert.py")); err != nil || !bytes.Contains(b, []byte("cuda")) || bytes.Contains(b, []byte("mps")) {
		t.Errorf("the file is not for the platforms of the machine: %v", err)
	}
	file := filepath.Join(t.TempDir(), "elsewhere.json")
	id := detect.JudgeFirst(detect.Look(m)).Host.ID
	if err := os.WriteFile(file, []byte(claimed(t, id)), 0o600); err != nil {
		t.Fatal(err)
	}
	e, _, stderr = capturedEnv(t, vars, m, answers)
	if status := run(t.Context(), e, []string{"import", file}); status != exitOK || !strings.Contains(stderr.String(), "mps") {
		t.Errorf("import: status %d, and a result on a device that this host lacks is taken\n%s", status, stderr)
	}
}

// claimed is a report of a host that says that it measured on mps.
func claimed(t *testing.T, host string) string {
	t.Helper()
	r := resultOf(cell.Cell{Type: "bert", Target: "mps"})
	b, err := json.Marshal(cell.Report{
		Schema: cell.Schema, Run: cell.Run{ID: "run-1", StartedAt: r.StartedAt, Command: "test"}, Host: cell.Host{ID: host}, Results: []cell.Result{r},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
