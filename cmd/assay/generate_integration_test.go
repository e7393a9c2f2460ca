//go:build integration

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/verify"
)

// TestIntegrationGeneratedTests: files of different pipelines are run where they
// were written; a result that a file saves is taken home; a file that was broken
// by hand fails, is kept, and says so.
func TestIntegrationGeneratedTests(t *testing.T) {
	t.Parallel()
	p, path := withTorch(t)
	python := func(args ...string) *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Env = append(os.Environ(), "ASSAY=assay --python "+path, "HF_HUB_OFFLINE=1")
		for name, value := range p.vars {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		return cmd
	}
	dir := filepath.Join(t.TempDir(), "tests")
	p.ok(t, "generate", "test", "bert", "rag", "--platform", "cpu,openvino", "--run-tests", "--out", dir)

	saved := filepath.Join(t.TempDir(), "saved.json")
	cmd := python("test_hf_bert.py", "--device", "cpu,openvino", "--save", saved)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as a script: %v\n%s", err, out)
	}
	p.ok(t, "import", saved)
	told, _, _ := p.run(t, "query", "--model", "bert", "--json")
	for _, want := range []string{`"cpu"`, `"openvino"`} {
		if !strings.Contains(told, want) {
			t.Errorf("no result of %s came home: %s", want, told)
		}
	}

	file := filepath.Join(dir, "test_hf_bert.py")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(text), "(1, 16, 256)", "(1, 16, 255)", 1)
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, told, status := p.run(t, "generate", "test", "bert", "--platform", "cpu,openvino", "--out", dir); status != exitFails || !strings.Contains(told, "was edited") {
		t.Errorf("an edited file: status %d, %s", status, told)
	}
	cmd = python("-m", "pytest", "-q", "test_hf_bert.py", "--device", "cpu")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "test_output[cpu]") {
		t.Errorf("a file that expects another shape passes: %v\n%s", err, out)
	}
}

// TestIntegrationVerify: a generated test is green with its model and red with
// each of its mutants.
func TestIntegrationVerify(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	told, _, status := p.run(t, "verify", "--pipelines", "vision", "--platforms", "cpu,cuda", "--json")
	var found struct{ Combinations []verify.Outcome }
	if err := json.Unmarshal([]byte(told), &found); err != nil || status != exitOK || len(found.Combinations) != 2 {
		t.Fatalf("status %d, %v: %s", status, err, told)
	}
	o := found.Combinations[0]
	if tried, noticed := o.Tried(); o.State != verify.Passed || tried != 7 || noticed != tried || o.Mutants["silently on the CPU"].Cannot == "" {
		t.Errorf("%+v", o)
	}
}
