package plan

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
)

// TestPlanFile: a file's cells become a plan, and what is wrong with either names
// the file.
func TestPlanFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "plan.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p, _ := planner(t, captured(t, "h200"))
	for name, c := range map[string]struct {
		text string
		asks Request
		says string // "" where it is a plan
	}{
		"a plan":        {text: `{"timing":"quick","cells":[{"type":"bert"},{"type":"vit","platform":"cuda"}]}`},
		"not JSON":      {text: `{`, says: "plan.json: "},
		"no type":       {text: `{"cells":[{"type":"plumber"}]}`, says: "plan.json: "},
		"beside models": {text: `{"cells":[{"type":"bert"}]}`, asks: asking([]string{"vit"}), says: "--plan"},
	} {
		got, err := p.PlanFile(t.Context(), c.asks, file(c.text), nil)
		if c.says == "" {
			if err != nil || len(got.Cells) != 2 || got.Timing != cell.Quick || got.Cells[1].Platform != "cuda" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if wrong := (*RequestError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want a request that cannot be met, with %q", name, err, c.says)
		}
	}
	if _, err := p.PlanFile(t.Context(), Request{}, filepath.Join(dir, "none.json"), nil); err == nil || !strings.Contains(err.Error(), "cannot read the plan") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := p.PlanFile(t.Context(), asking([]string{"vit"}), filepath.Join(dir, "none.json"), nil); err == nil || strings.Contains(err.Error(), "cannot read") {
		t.Errorf("the file is read before the request is: %v", err)
	}
	if got, err := p.PlanFile(t.Context(), Request{}, "-", strings.NewReader(`{"cells":[{"type":"bert"}]}`)); err != nil || len(got.Cells) != 1 {
		t.Errorf("standard input: %+v, %v", got, err)
	}
}
