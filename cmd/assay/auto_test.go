package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		var stdout, stderr bytes.Buffer
		e := &env{
			stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, machine: m, engines: answers, cpuinfo: os.DevNull,
			getenv: func(name string) string { return vars[name] },
			environ: func() (out []string) {
				for name, value := range vars {
					out = append(out, name+"="+value)
				}
				return out
			},
		}
		// There is no environment to run it in: what auto means is said before.
		status := run(t.Context(), e, []string{"test", "bert", "--platform", "auto", "--no-setup"})
		if status != exitProgram || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: status %d\n%s", machine, status, stderr.String())
		}
	}
}
