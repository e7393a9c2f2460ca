//go:build integration

package main

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// loadedInPages loads a model on each of the platforms of browsers, which the program has to open.
const loadedInPages = `
import json, assay
told = {}
for platform in ("webgpu", "webnn"):
    with assay.load("bert", platform=platform, fallback=False) as model:
        told[platform] = {"settings": model.settings(), "output": list(model.run(**model.example()))}
print(json.dumps(told, default=str))
`

// TestIntegrationPythonInPages: the Python interface runs models on WebGPU and WebNN in a page that it
// asks the program for, by the same way as everybody else.
func TestIntegrationPythonInPages(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	linkWeb(t, p)
	program, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	p.vars["ASSAY_PROGRAM"] = program
	var told map[string]struct {
		Settings struct {
			Platform string `json:"platform"`
			Fallback []any  `json:"fallback"`
		} `json:"settings"`
		Output []string `json:"output"`
	}
	if err := json.Unmarshal(runPython(t, p, python, "-c", loadedInPages), &told); err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"webgpu", "webnn"} {
		if x := told[platform]; x.Settings.Platform != platform || len(x.Settings.Fallback) != 0 || len(x.Output) == 0 {
			t.Errorf("%s: %+v", platform, x)
		}
	}
}
