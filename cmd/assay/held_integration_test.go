//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/skillpages"
)

const (
	holds   = "the graph does not take attention_mask: it holds for the value that it was exported with"
	without = "the graph does not take position_ids: it was exported without it"
)

// held exports bert, and makes its mask a constant of the graph.
func held(t *testing.T, p *program, python, format, out string) string {
	t.Helper()
	p.ok(t, "export", "bert", "--format", format, "--out", out)
	folder := filepath.Join(out, "bert-"+format+"-fp32")
	if said, err := exec.CommandContext(t.Context(), python, "testdata/python/hold.py", folder, "attention_mask").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return folder
}

// asked is a test of a graph that holds a mask; run takes its inputs by name.
const asked = `

def test_held(SUBJECT):
    RUN
    ones = inputs["attention_mask"]
    assert run(inputs)
    for name, other, said in [
        ("attention_mask", ones * 0, HOLDS),
        ("attention_mask", ones[:, 1:], HOLDS),
        ("position_ids", ones, WITHOUT),
    ]:
        with pytest.raises(ValueError, match=said):
            run({**inputs, name: other})
`

// appendHeld writes the test at the end of a generated file.
func appendHeld(t *testing.T, file, subject, run string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, strings.NewReplacer("SUBJECT", subject, "RUN", run, "HOLDS", `"`+holds+`"`, "WITHOUT", `"`+without+`"`).Replace(asked)...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestIntegrationHeldInputs: generated tests and skills refuse another value of
// an input that the graph holds, and an input that it was exported without.
func TestIntegrationHeldInputs(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir := t.TempDir()
	graphs, tests, skills := filepath.Join(dir, "graphs"), filepath.Join(dir, "tests"), filepath.Join(dir, "skills")
	folder := held(t, p, python, "openvino", graphs)
	p.ok(t, "generate", "test", "bert", "--platform", "openvino", "--out", tests)
	p.ok(t, "generate", "skill", "bert", "--platform", "openvino", "--out", skills)
	appendHeld(t, filepath.Join(tests, "test_hf_bert.py"), "subject", "run, inputs = subject.run, subject.samples()")
	appendHeld(t, filepath.Join(skills, "test_skill_hf_bert.py"), "skill", `inputs = skill._inputs([example()])
    run = lambda given: skill.engine.forward(given, 1)
    run({**inputs, "token_type_ids": inputs["attention_mask"] * 0})  # as tokenizers give them`)
	script, err := filepath.Abs("testdata/python/hold.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{tests, "--artefacts", graphs}, {skills}} {
		cmd := exec.CommandContext(t.Context(), python, append([]string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "--device", "openvino", "-k", "test_held"}, args...)...)
		cmd.Env = append(os.Environ(), "ASSAY="+python+" "+script+" give "+folder)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "1 passed") {
			t.Errorf("%s: %v: %s", args[0], err, out)
		}
	}
}

// TestIntegrationHeldInputsInPages: a skill for browsers refuses them too.
func TestIntegrationHeldInputsInPages(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	linkWeb(t, p)
	skills, graphs := filepath.Join(p.dir, "skills"), filepath.Join(p.dir, "graphs")
	p.ok(t, "generate", "skill", "bert", "--out", skills)
	held(t, p, python, "web", graphs)
	run := inPacked(t)
	run.Artefacts = graphs
	const mask = "attention_mask: filled([1, 16], 1),"
	for is, says := range map[string]string{
		mask:                                  "",
		"attention_mask: filled([1, 16], 0),": holds,
		mask + "\n  position_ids: filled([1, 16], 0),": without,
	} {
		run.Skills = mutated(t, skills, "skill_hf_bert.mjs", mask, is)
		files, err := run.Modules(t.Context(), []skillpages.Trial{{Module: "test_skill_hf_bert.mjs", Artefact: "bert-web-fp32"}})
		if err != nil {
			t.Fatal(err)
		}
		var said string
		for _, c := range files[0].Failed {
			if c.Test == "answer" {
				said = c.Why
			}
		}
		if (said == "") != (says == "") || !strings.Contains(said, says) {
			t.Errorf("with %s it says %q, want %q", is, said, says)
		}
	}
}
