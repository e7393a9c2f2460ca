package lab

import (
	"encoding/json"
	"sync"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// TestLaws: they are asked for where the plan does, of tiny models on the CPU in
// fp32 alone; a broken one is named, keeps the verdict, and is strict's failure.
func TestLaws(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		mu.Lock()
		asked[string(job.Cell.DType)+" "+job.Cell.Size] = job.Laws && job.Repro
		mu.Unlock()
		var report map[string]any
		if err := json.Unmarshal(goodReport(job), &report); err != nil {
			return runner.Exit{}, err
		}
		if job.Laws {
			report["laws"] = []map[string]any{
				{"law": "batch", "status": "holds", "max_rel": 1e-7},
				{"law": "padding", "status": "broken", "max_rel": 0.28, "tolerance": 1e-5, "output": "logits", "why": "padded on the right", "script": "print(1)\n"},
				{"law": "cache", "status": "not-applicable", "why": "it does not generate"},
			}
		}
		b, err := json.Marshal(report)
		on(runner.PointDone{Report: b})
		return runner.Exit{}, err
	}}
	plan := cells(
		cell.Cell{Type: "aimv2", Platform: platform.CPU, Size: cell.Tiny},
		cell.Cell{Type: "aimv2", Platform: platform.CPU, Size: cell.Tiny, DType: platform.BF16},
		cell.Cell{Type: "aimv2", Platform: platform.CPU, Size: cell.Full},
	)
	plan.Laws, plan.Scripts = true, true
	results, _, err := carry(t, s, bench{}, plan)
	if err != nil || len(results) != 3 {
		t.Fatal(results, err)
	}
	if !asked["fp32 tiny"] || asked["bf16 tiny"] || asked["fp32 full"] {
		t.Errorf("laws were asked for with %v, want them with fp32 tiny alone", asked)
	}
	for _, r := range results {
		if len(r.Laws) == 0 {
			continue
		}
		const want = "it breaks the law of padding: logits differs by 0.28 of its largest value (padded on the right)"
		if r.Verdict != cell.Works || r.Note != want || len(r.Broken()) != 1 || r.Broken()[0].Script == "" {
			t.Errorf("%s, %q, %+v; want works, %q", r.Verdict, r.Note, r.Laws, want)
		}
		if loose, strict := cell.Count([]cell.Result{r}, false), cell.Count([]cell.Result{r}, true); loose.Failing != 0 || strict.Failing != 1 {
			t.Errorf("it fails %d times, %d with --strict; want 0 and 1", loose.Failing, strict.Failing)
		}
	}
	const line = "laws of 1 model: 1 held, 1 broken, 1 not applicable; broken by aimv2"
	var tally cell.LawTally
	for _, r := range results {
		tally.Add(r)
	}
	if got := tally.String(); got != line {
		t.Errorf("the tally is %q, want %q", got, line)
	}
}
