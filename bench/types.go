package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
)

// What the sweep over every model type must reach. A type runs when it gave
// finite numbers from all its main inputs; its control holds when the check of
// its numbers was seen to fail on a damaged model.
const (
	typesBar    = 8 * time.Minute
	typesMemory = 6 << 30
	typesRun    = 715
	autoShare   = 0.98
	controlled  = 0.97

	pipelinesRun = 20
)

// types sweeps every model type of the catalogue at size tiny on the CPU, in a
// home of its own, and watches the memory of all its processes meanwhile.
func (b *bench) types(ctx context.Context) (findings, error) {
	cat, err := catalog.Load()
	if err != nil {
		return findings{}, err
	}
	selector := []string{"--all"}
	if b.quick {
		selector = []string{"bert", "vit", "t5", "whisper"}
	}
	watch := watchMemory(ctx)
	r, wall, err := b.failing(ctx, append([]string{"test", "--platform", "cpu", "--size", "tiny"}, selector...)...)
	peak := watch.stop()
	if err != nil {
		return findings{}, err
	}
	s := summed(cat, r.Results)
	full := !b.quick
	rows := []Row{
		{Name: "sweep of every type", Measured: fmt.Sprintf("%d types and %d pipelines, tiny, checked on the CPU", s.all, s.pipelines),
			Value: fmt.Sprintf("%.0f s", wall.Seconds()), Bar: fmt.Sprintf("≤ %.0f s", typesBar.Seconds()),
			Data: map[string]float64{"types": float64(len(r.Results)), "wall_s": wall.Seconds()}},
		{Name: "its memory", Measured: "proportional share of all its processes, four times a second",
			Value: fmt.Sprintf("%.2f GiB at most", float64(peak)/(1<<30)), Bar: fmt.Sprintf("≤ %d GiB", typesMemory>>30),
			Data: map[string]float64{"peak_bytes": float64(peak)}},
		{Name: "types that run", Measured: "works or partial, all main inputs, finite output",
			Value: fmt.Sprintf("%d of %d", s.run, s.all), Bar: fmt.Sprintf("≥ %d", typesRun), Note: s.trouble(),
			Data: map[string]float64{"run": float64(s.run), "works": float64(s.works), "all": float64(s.all)}},
		{Name: "of the auto mappings", Measured: "the same, of types that an auto mapping names",
			Value: fmt.Sprintf("%d of %d (%.1f %%)", s.autoRun, s.auto, 100*share(s.autoRun, s.auto)), Bar: fmt.Sprintf("≥ %.0f %%", 100*autoShare)},
		{Name: "negative controls", Measured: "seen, of the types that run",
			Value: fmt.Sprintf("%d of %d (%.1f %%), %d by damage", s.controlled, s.run, 100*share(s.controlled, s.run), s.damaged), Bar: fmt.Sprintf("≥ %.0f %%", 100*controlled)},
		{Name: "pipelines that run", Measured: "of diffusers, those with a recipe, by their default tasks",
			Value: fmt.Sprintf("%d of %d", s.pipelinesRun, s.pipelines), Bar: fmt.Sprintf("≥ %d", pipelinesRun)},
	}
	met := []bool{wall <= typesBar, peak <= typesMemory, s.run >= typesRun, share(s.autoRun, s.auto) >= autoShare, share(s.controlled, s.run) >= controlled, s.pipelinesRun >= pipelinesRun}
	for i := range rows {
		rows[i] = rows[i].judge(met[i], full)
	}
	return findings{rows: rows}, nil
}

func share(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// tally counts what became of the types.
type tally struct {
	all, run, works, auto, autoRun, controlled int // of transformers
	damaged                                    int // of the controlled, those whose control is damage and not another input
	pipelines, pipelinesRun                    int // of diffusers, each with its default task
	failing                                    []string
}

func summed(cat *catalog.Catalog, results []cell.Result) tally {
	var t tally
	for _, r := range results {
		e, _ := cat.Get(r.Cell.Type)
		if e.Library == catalog.Diffusers {
			t.pipelines++
			t.pipelinesRun += count(r.Verdict == cell.Works || r.Verdict == cell.Partial)
			continue
		}
		t.all++
		ran := r.Verdict == cell.Works || r.Verdict == cell.Partial
		t.auto += count(e.Auto)
		t.run += count(ran)
		t.works += count(r.Verdict == cell.Works)
		t.autoRun += count(e.Auto && ran)
		seen := ran && r.Numerics != nil && r.Numerics.Control != nil && r.Numerics.Control.Pass
		t.controlled += count(seen)
		t.damaged += count(seen && r.Numerics.Control.Kind != cell.OtherInput)
		if !ran {
			t.failing = append(t.failing, r.Cell.Type)
		}
	}
	return t
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (t tally) trouble() string {
	if len(t.failing) == 0 {
		return ""
	}
	return "these do not: " + strings.Join(t.failing, ", ")
}

// failing is report for cells of which some may fail: that is an answer too.
func (b *bench) failing(ctx context.Context, args ...string) (cell.Report, time.Duration, error) {
	out, wall, err := b.cells(args...).run(ctx)
	var exit *exec.ExitError
	if some := errors.As(err, &exit) && exit.ExitCode() == exitFails; err != nil && !some {
		return cell.Report{}, wall, err
	}
	var r cell.Report
	if err := json.Unmarshal(out, &r); err != nil {
		return r, wall, fmt.Errorf("what %s printed is not a report: %w", strings.Join(args, " "), err)
	}
	return r, wall, nil
}

// exitFails is the program's status when some cell fails.
const exitFails = 3
