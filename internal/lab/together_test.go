package lab

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/runner"
)

// meeting is a runner of children that meet as docs/measuring.md says, and take
// twice as long in company.
func meeting(t *testing.T) *script {
	t.Helper()
	return &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		report := map[string]any{}
		_ = json.Unmarshal(goodReport(job), &report)
		if company, ok := job.Options["company"].(map[string]any); ok {
			folder := company["folder"].(string)
			_ = os.WriteFile(filepath.Join(folder, "warm."+job.Cell.Type+job.Cell.Hash), nil, 0o600)
			for range 500 {
				if found, _ := filepath.Glob(filepath.Join(folder, "warm.*")); len(found) >= 2 || job.Cell.Company == "bert, bert" {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			report["samples_ms"] = []float64{4, 4, 4}
		}
		b, _ := json.Marshal(report)
		on(runner.PointDone{Index: 0, Report: b})
		return runner.Exit{}, nil
	}}
}

func concurrent(t *testing.T, s *script, types ...string) []cell.Result {
	t.Helper()
	p := cell.Plan{Timing: cell.Quick, Repeats: 6}
	for _, name := range types {
		p.Cells = append(p.Cells, cell.Cell{Type: name, Special: cell.Special{Scenario: cell.Concurrent}})
	}
	p, err := p.Normal()
	if err != nil {
		t.Fatal(err)
	}
	var n notes
	l := Lab{Runner: s, Recipes: recipes{}, Machine: bench{}, Workers: 2, Limit: time.Minute}
	if err := l.Carry(context.Background(), p, &n); err != nil {
		t.Fatal(err)
	}
	return n.results
}

// TestModelsAreTimedAloneAndTogether: the ratio is that of each repeat, and its
// interval follows from six of them.
func TestModelsAreTimedAloneAndTogether(t *testing.T) {
	t.Parallel()
	s := meeting(t)
	results := concurrent(t, s, "bert", "vit")
	if len(results) != 2 || s.most.Load() < 2 {
		t.Fatalf("%d results, %d at once", len(results), s.most.Load())
	}
	for _, r := range results {
		i := r.Interference
		if i == nil || i.Ratio != 2 || i.AloneMS != 2 || i.Lo == nil || *i.Lo != 2 || r.Latency.MedianMS != 4 {
			t.Errorf("%s: %+v, %+v", r.Cell.Type, i, r.Latency)
		}
		if r.Cell.Company != "bert, vit" || slices.Contains(i.Beside, r.Cell.Type) || len(i.Beside) != 1 {
			t.Errorf("%s ran beside %v of %q", r.Cell.Type, i.Beside, r.Cell.Company)
		}
	}
}

// TestOneModelRunsBesideItself: and the copy's results are nobody's.
func TestOneModelRunsBesideItself(t *testing.T) {
	t.Parallel()
	s := meeting(t)
	results := concurrent(t, s, "bert")
	if len(results) != 1 || results[0].Interference == nil || results[0].Interference.Beside[0] != "bert" || len(results[0].Latency.SamplesMS) != 6 {
		t.Fatalf("%+v", results)
	}
}

// TestALostCompanionIsToldToTheOthers: the file that ends their wait is there,
// and each result says what happened to it.
func TestALostCompanionIsToldToTheOthers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := 0
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		company, ok := job.Options["company"].(map[string]any)
		switch {
		case !ok:
			return good(n, job, on)
		case job.Cell.Type == "vit":
			on(runner.Failure{Type: "ValueError", Message: "it broke"})
			return runner.Exit{Status: 1}, nil
		}
		for range 500 {
			if _, err := os.Stat(filepath.Join(company["folder"].(string), "lost")); err == nil {
				mu.Lock()
				told++
				mu.Unlock()
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		on(runner.Failure{Type: "assay_runner.errors.LostCompany", Message: "a model that was to run at the same time ended"})
		return runner.Exit{Status: 1}, nil
	}}
	for _, r := range concurrent(t, s, "bert", "vit") {
		if r.Failure == nil {
			t.Fatalf("%s: %s", r.Cell.Type, r.Verdict)
		}
		want := map[string]cell.FailureClass{"bert": cell.Environment, "vit": cell.ModelError}[r.Cell.Type]
		if r.Failure.Class != want {
			t.Errorf("%s: %s, %s", r.Cell.Type, r.Failure.Class, r.Failure.Detail)
		}
	}
	if told == 0 {
		t.Error("nobody was told")
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "assay-company-*")); slices.ContainsFunc(left, func(f string) bool { return strings.HasSuffix(f, "lost") }) {
		t.Errorf("left behind: %v", left)
	}
}
