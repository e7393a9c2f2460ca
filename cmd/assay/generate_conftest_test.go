package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/generate"
	"assay/internal/platform"
)

// TestConftestByFolder: skills have a small conftest.py of their own; where tests
// of models are in the folder, or come there, theirs serves both.
func TestConftestByFolder(t *testing.T) {
	t.Parallel()
	const small, large = "The options of the tests of skills", "What the generated tests of this folder share"
	for name, c := range map[string]struct {
		skills bool
		there  []string
		want   string
	}{
		"skills alone":         {true, nil, small},
		"skills beside skills": {true, []string{"test_skill_hf_bert.py"}, small},
		"skills beside tests":  {true, []string{"test_hf_bert.py"}, large},
		"tests alone":          {false, nil, large},
		"tests beside skills":  {false, []string{"test_skill_hf_bert.py"}, large},
	} {
		f := generateFlags{out: t.TempDir(), skills: c.skills}
		for _, file := range c.there {
			if err := os.WriteFile(filepath.Join(f.out, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made, err := f.conftest(platform.Names())
		if err != nil || made.Name != generate.Conftest || !strings.Contains(made.Text, c.want) {
			t.Errorf("%s: %v: %.200s", name, err, made.Text)
		}
		if stamp, edited, ok := generate.Origin(made.Text); !ok || edited || stamp.Kind != "conftest" {
			t.Errorf("%s: the stamp is %+v (edited %v, found %v)", name, stamp, edited, ok)
		}
	}
}
