//go:build integration

package mentions

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"assay/internal/environment"

	"github.com/google/go-cmp/cmp"
)

// TestIntegrationDefaults: the defaults of pipelines are those of the libraries that are installed.
func TestIntegrationDefaults(t *testing.T) {
	t.Parallel()
	folders, err := environment.FindFolders(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	m := environment.New(folders, os.Environ(), func(s string) { t.Log(s) })
	python, err := m.Open(t.Context(), environment.Choice{NoSetup: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python.Python, "-c", `import json
from transformers.pipelines import SUPPORTED_TASKS, TASK_ALIASES
first = lambda m: first(m["pt"]) if isinstance(m, dict) else m[0]
print(json.dumps([{k: first(v["default"]["model"]) for k, v in SUPPORTED_TASKS.items()}, TASK_ALIASES]))`).Output()
	if err != nil {
		t.Fatal(err)
	}
	var said [2]map[string]string
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	same(t, pythonStandards, said[0], said[1])

	pages, err := m.FindWeb()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(pages.Package("@huggingface/transformers"), "src", "pipelines", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	models, aliases := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)\n    '?([\w-]+)'?: \{.*?default: \{\s*model: '([^']+)'`).FindAllSubmatch(source, -1) {
		models[string(m[1])] = string(m[2])
	}
	for _, m := range regexp.MustCompile(`\n    '?([\w-]+)'?: '([\w-]+)',`).FindAllSubmatch(source, -1) {
		aliases[string(m[1])] = string(m[2])
	}
	same(t, scriptStandards, models, aliases)
}

func same(t *testing.T, s standards, models, aliases map[string]string) {
	t.Helper()
	mine := map[string]string{}
	for task, d := range s.models {
		mine[task] = d.Name
	}
	if diff := cmp.Diff(mine, models) + cmp.Diff(s.aliases, aliases); diff != "" || len(models) < 20 {
		t.Errorf("%s %s: %s", s.library, s.release, diff)
	}
}
