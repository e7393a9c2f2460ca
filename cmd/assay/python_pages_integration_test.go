//go:build integration

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// killedInAPage loads a model in a page, and is killed.
const killedInAPage = `
import os, signal, assay
model = assay.load("bert", platform="webnn", fallback=False)
print(model.settings()["platform"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
`

// killedInPages has processes ask for one page more than may be open, and kills each.
const killedInPages = `
import os, signal, time, assay
from assay import errors, pages, platforms
for n in range(17):
    child = os.fork()
    if child == 0:
        for again in range(100):
            try:
                pages.opened(platforms.parse("webnn"), 0)
                break
            except errors.Unavailable as error:
                if "too many pages" not in str(error):
                    raise
                time.sleep(0.1)
        else:
            os._exit(1)
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print("killed" if os.WIFSIGNALED(status) else "no page", flush=True)
`

// TestIntegrationKilledPython: a program that is killed leaves no page behind, neither of a server that it started nor of
// one that runs already.
func TestIntegrationKilledPython(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t) // which looks for processes that are left
	linkWeb(t, p)
	program, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	p.vars["ASSAY_PROGRAM"] = program
	sources, err := filepath.Abs("../../runtimes/python")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", killedInAPage)
	cmd.Env = append(p.environ(), "PYTHONPATH="+sources, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	cmd.WaitDelay = 20 * time.Second // a server that stays has its output open
	if out, err := cmd.Output(); err == nil || strings.TrimSpace(string(out)) != "webnn" {
		t.Fatalf("%s, %v", out, err)
	}
	p.vars["ASSAY_SERVER"] = p.dashboard(t)
	if out := runPython(t, p, python, "-c", killedInPages); strings.Count(string(out), "killed") != 17 {
		t.Errorf("%s", out)
	}
}
