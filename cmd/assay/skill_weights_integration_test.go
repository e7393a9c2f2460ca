//go:build integration

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestIntegrationSkillWeights: the test of a skill that writes a text turns red
// when its weights are damaged, though a text is still written, and only then.
func TestIntegrationSkillWeights(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir := t.TempDir()
	p.ok(t, "generate", "skill", "llama", "--out", dir)
	script, err := filepath.Abs("testdata/python/mutate_skill.py")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, script, dir, "llama").Output()
	var red map[string][]string
	if err == nil {
		err = json.Unmarshal(out, &red)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for mutant, want := range map[string][]string{
		"whole":                          {},
		"every weight is NaN":            {"test_finite", "test_as_on_cpu"},
		"a head of zeros":                {"test_input_matters"},
		"a layer of zeros on the device": {"test_as_on_cpu"},
	} {
		if got, ran := red[mutant]; !ran || !slices.Equal(got, want) {
			t.Errorf("%s: %v failed, want %v", mutant, got, want)
		}
	}
}
