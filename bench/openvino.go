package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/measure"
	"assay/internal/runner"
	"assay/internal/runner/python"
)

// What OpenVINO's cells must reach: convert plus compile from the cache over
// the first time, and Assay's loop beside OpenVINO's own benchmark program.
const (
	cacheBar   = 0.10
	appPairs   = 12
	appProgram = "from openvino.tools.benchmark.main import main; main()"
	appReport  = "benchmark_report.json"
	// appMedianKey is what the report calls its latency, whose percentile is the 50th unless one is asked for.
	appMedianKey = "latency (ms)"
	appSeconds   = 5
	openvinoDir  = "exports"
)

// openvino measures full models with random weights on OpenVINO's CPU: what the
// cache of exported models saves, and whether Assay's timed loop sees what
// benchmark_app sees on the same model and settings. Both leave the number of
// threads to OpenVINO: benchmark_app takes none beside a hint.
func (b *bench) openvino(ctx context.Context) (findings, error) {
	release, err := lab.Hush(os.TempDir())(ctx, true, b.say)
	if err != nil {
		return findings{}, err
	}
	defer release()
	r, err := python.Runner{Python: b.env.Python, Env: b.env.Environ(ctx)}.StartRestarting(ctx)
	if err != nil {
		return findings{}, err
	}
	rows, err := b.openvinoRows(ctx, r)
	return findings{rows: rows}, errors.Join(err, r.Close())
}

func (b *bench) openvinoRows(ctx context.Context, r runner.Runner) ([]Row, error) {
	size := cell.Full
	if b.quick {
		size = cell.Tiny
	}
	var rows []Row
	for _, name := range []string{"bert", "vit"} {
		job, err := b.openvinoJob(name, size)
		if err != nil {
			return rows, err
		}
		first, err := outcomeOf(ctx, r, withKind(job, runner.CheckJob))
		if err != nil {
			return rows, err
		}
		again, err := outcomeOf(ctx, r, job)
		if err != nil {
			return rows, err
		}
		rows = append(rows, cacheRow(name, size, first, again).judge(again.loadMS() <= cacheBar*first.loadMS(), !b.quick))
		if name == "bert" {
			row, err := b.appRow(ctx, r, job, again.report.Export.Prepared)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (b *bench) openvinoJob(name, size string) (runner.Job, error) {
	recipe, err := b.catalog.Recipe(name, "", size, "")
	if err != nil {
		return runner.Job{}, err
	}
	return runner.Job{
		Kind: runner.TimeJob, Cell: cell.Cell{Type: name, Size: size, Target: "openvino"}.Normal(), Recipe: recipe,
		Points: []runner.Point{{Batch: 1}}, Preload: true,
		Timing:  &runner.TimingRule{MinS: appSeconds, MinN: 5, MaxS: 4 * appSeconds, WarmupMaxS: appSeconds, WarmupWindow: 3, WarmupTolerance: 0.1},
		Options: map[string]any{"exports": filepath.Join(b.tmp, openvinoDir)},
	}, nil
}

func withKind(j runner.Job, kind runner.JobKind) runner.Job {
	j.Kind = kind
	return j
}

// carried is what one child said about a job with one point.
type carried struct {
	report runner.Report
	phases map[string]float64
}

// loadMS is what lies between the torch model and a compiled one.
func (c carried) loadMS() float64 { return c.phases["convert"] + c.phases["compile"] }

func outcomeOf(ctx context.Context, r runner.Runner, job runner.Job) (carried, error) {
	out := carried{phases: map[string]float64{}}
	var failed error
	exit, err := r.Run(ctx, job, func(e runner.Event) {
		switch e := e.(type) {
		case runner.Phase:
			out.phases[e.Name] += e.MS
		case runner.PointDone:
			out.report, failed = e.Decode()
		case runner.Failure:
			failed = fmt.Errorf("%s %s failed: %s: %s", job.Kind, job.Cell.Type, e.Type, e.Message)
		}
	})
	if err == nil && failed == nil && (exit.Outcome() != runner.Finished || out.report.Export == nil) {
		failed = fmt.Errorf("the child meant to %s %s %s", job.Kind, job.Cell.Type, exit)
	}
	return out, errors.Join(err, failed)
}

func cacheRow(name, size string, first, again carried) Row {
	share := again.loadMS() / first.loadMS()
	return Row{
		Name: name + ": convert plus compile from the cache", Bar: fmt.Sprintf("≤ %.0f %% of the first time", 100*cacheBar),
		Measured: fmt.Sprintf("%s, random weights, fp32, two fresh processes", size),
		Value:    fmt.Sprintf("%.1f %% (%.2f s over %.2f s)", 100*share, again.loadMS()/1e3, first.loadMS()/1e3),
		Data: map[string]float64{"share": share, "first_convert_ms": first.phases["convert"], "first_compile_ms": first.phases["compile"],
			"cached_convert_ms": again.phases["convert"], "cached_compile_ms": again.phases["compile"]},
	}
}

// appRow alternates repeats of Assay with runs of benchmark_app.
func (b *bench) appRow(ctx context.Context, r runner.Runner, job runner.Job, key string) (Row, error) {
	model := filepath.Join(b.tmp, openvinoDir, key[:2], key, "model.xml")
	n := b.times(appPairs, 2)
	sides := []func() (float64, error){
		func() (float64, error) { return b.appOnce(ctx, model) },
		func() (float64, error) {
			c, err := outcomeOf(ctx, r, job)
			return measure.Median(c.report.SamplesMS), err
		},
	}
	var medians [2][]float64
	for i := range n {
		for _, side := range b.order.Perm(2) {
			ms, err := sides[side]()
			if err != nil {
				return Row{}, err
			}
			medians[side] = append(medians[side], ms)
		}
		b.say(fmt.Sprintf("   %d of %d: benchmark_app %.3f ms, assay %.3f ms", i+1, n, medians[0][i], medians[1][i]))
	}
	return appRow(job, medians[0], medians[1]).judge(within(measure.Compare(single(medians[0]), single(medians[1]))), n >= appPairs), nil
}

func appRow(job runner.Job, app, ours []float64) Row {
	c := measure.Compare(single(app), single(ours))
	return Row{
		Name: job.Cell.Type + ": Assay's loop over benchmark_app", Bar: fmt.Sprintf("%g to %g", bareLo, bareHi),
		Measured: fmt.Sprintf("%s, fp32, latency hint, the same model file: medians of %d alternations", job.Cell.Size, len(app)),
		Value:    fmt.Sprintf("%s (%.2f ms over %.2f ms)", ratio(c), c.MedianB, c.MedianA),
		Data:     numbers(c), Raw: map[string][]float64{"benchmark_app_median_ms": app, "assay_median_ms": ours},
	}
}

// appOnce is the median latency of one run of benchmark_app, for as long as a
// repeat of Assay's takes.
func (b *bench) appOnce(ctx context.Context, model string) (float64, error) {
	args := []string{"-c", appProgram, "-m", model, "-d", "CPU", "-hint", "latency", "-api", "sync", "-infer_precision", "f32",
		"-t", strconv.Itoa(appSeconds), "-report_type", "no_counters", "-report_folder", b.tmp, "-json_stats"}
	if _, _, err := (process{path: b.env.Python, args: args, env: os.Environ()}).run(ctx); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(b.tmp, appReport))
	if err != nil {
		return 0, fmt.Errorf("benchmark_app left no report: %w", err)
	}
	return appMedian(text)
}

// appMedian reads the median out of a report of benchmark_app, which keeps all
// numbers as texts.
func appMedian(text []byte) (float64, error) {
	var report struct {
		Results map[string]string `json:"execution_results"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return 0, fmt.Errorf("cannot parse benchmark_app's report: %w", err)
	}
	ms, err := strconv.ParseFloat(report.Results[appMedianKey], 64)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("benchmark_app's report has no median latency: %q", report.Results[appMedianKey])
	}
	return ms, nil
}
