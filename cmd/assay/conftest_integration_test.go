//go:build integration

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationConftests: the options of skills' tests are refused where they
// cannot be meant, and two folders, or tests and skills in one, run together.
func TestIntegrationConftests(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir := t.TempDir()
	tests, skills, both := filepath.Join(dir, "tests"), filepath.Join(dir, "skills"), filepath.Join(dir, "both")
	for _, made := range [][]string{{"test", tests}, {"skill", skills}, {"skill", both}, {"test", both}} {
		p.ok(t, "generate", made[0], "bert", "--out", made[1])
	}
	for name, c := range map[string]struct {
		args []string
		says string
		red  bool
	}{
		"a list":        {[]string{skills, "--device", "cpu,cuda"}, "--device cpu,cuda: choose one of auto, cpu", true},
		"no platform":   {[]string{skills, "--device", "abacus"}, "--device abacus: choose one of", true},
		"not an option": {[]string{skills, "--save", "x.json"}, "unrecognized arguments: --save", true},
		"two folders":   {[]string{tests, skills, "--device", "cpu", "-k", "settings or loads"}, "test_skill_hf_bert.py::test_settings PASSED", false},
		"swapped":       {[]string{skills, tests, "--device", "cpu,cuda", "-k", "settings"}, "not on cpu,cuda", false},
		"one folder":    {[]string{both, "--device", "cpu", "-k", "settings or loads"}, "test_skill_hf_bert.py::test_settings PASSED", false},
	} {
		args := append([]string{"-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider"}, c.args...)
		out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
		if (err != nil) != c.red || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
