package report

import (
	"os"
	"strings"
	"testing"
)

// The pages of the dashboard and the site show the same marks and say the same of
// them as every other format.
func TestPagesHaveTheSameMarks(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../runtimes/web/dash/src/marks.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range looks {
		if !strings.Contains(string(b), `verdict: "`+string(l.verdict)+`"`) || !strings.Contains(string(b), `mark: "`+l.mark+`", meaning: "`+l.meaning+`"`) {
			t.Errorf("marks.ts does not show %s as %s: %s", l.verdict, l.mark, l.meaning)
		}
	}
	for _, g := range grades {
		if !strings.Contains(string(b), `evidence: "`+string(g.evidence)+`", short: "`+g.short+`", meaning: "`+g.meaning+`"`) {
			t.Errorf("marks.ts does not show %s as %q: %s", g.evidence, g.short, g.meaning)
		}
	}
	if !strings.Contains(string(b), `unstable = "`+unstable+`"`) {
		t.Errorf("marks.ts does not mark unstable times with %s", unstable)
	}
}
