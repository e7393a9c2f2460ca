package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/lab"
	"assay/internal/platform"
	"assay/internal/runner"
	"assay/internal/runner/python"
)

// The subject of the sections that time single repeats: large enough that the
// clock's own cost does not show, small enough for hundreds of repeats.
const (
	subjectType  = "bert"
	subjectBatch = 4
)

// repeat is what one fresh process saw, Assay's or the bare one.
type repeat struct {
	SamplesMS    []float64 `json:"samples_ms"`
	CPUMSPerIter float64   `json:"cpu_ms_per_iter"`
	// What must be the same on both sides.
	Threads   int    `json:"threads"`
	Attention string `json:"attention"`
}

// repeater carries single repeats of the subject out by a zygote of its own,
// with the job that the lab would send.
type repeater struct {
	runner  runner.Runner
	job     runner.Job
	release func()
}

// repeater starts a zygote, and asks other programs of ours for silence.
func (b *bench) repeater(ctx context.Context) (*repeater, error) {
	release, err := lab.Hush(os.TempDir())(ctx, true, b.say)
	if err != nil {
		return nil, err
	}
	return b.repeaterWith(ctx, release)
}

// repeaterWith starts a zygote, and calls release when it is closed or cannot be.
func (b *bench) repeaterWith(ctx context.Context, release func()) (*repeater, error) {
	recipe, err := b.catalog.Recipe(subjectType, "", cell.Tiny, "")
	if err != nil {
		release()
		return nil, err
	}
	r, err := python.Runner{Python: b.env.Python, Env: b.env.Environ(ctx)}.StartRestarting(ctx)
	if err != nil {
		release()
		return nil, err
	}
	return &repeater{runner: r, release: release, job: runner.Job{
		Kind: runner.TimeJob, Cell: cell.Cell{Type: subjectType, Batch: subjectBatch}.Normal(), Recipe: recipe,
		Points: []runner.Point{{Batch: subjectBatch}}, Timing: b.rule(), Threads: b.loopThreads(), Preload: true,
	}}, nil
}

// rule is bench's own stop rule, the quick one in a trial.
func (b *bench) rule() *runner.TimingRule {
	name := cell.Thorough
	if b.quick {
		name = cell.Quick
	}
	rule, _ := lab.TimingRule(name)
	return rule
}

// loopThreads are the asked ones, or what detection recommends for this CPU,
// as for every cell.
func (b *bench) loopThreads() int {
	if b.threads > 0 {
		return b.threads
	}
	seen := detect.Judge(b.session().Sighting(), nil)
	cpu, _ := seen.Get(platform.CPU)
	for _, d := range cpu.Devices {
		if d.Settings != nil {
			return d.Settings.Threads
		}
	}
	return 1
}

func (r *repeater) close() error {
	defer r.release()
	return r.runner.Close()
}

// once carries one repeat out.
func (r *repeater) once(ctx context.Context) (repeat, error) {
	var out repeat
	var failed error
	exit, err := r.runner.Run(ctx, r.job, func(e runner.Event) {
		switch e := e.(type) {
		case runner.PointDone:
			out, failed = read(e)
		case runner.Failure:
			failed = fmt.Errorf("the repeat failed: %s: %s", e.Type, e.Message)
		}
	})
	switch {
	case err != nil:
		return out, err
	case failed != nil:
		return out, failed
	case exit.Outcome() != runner.Finished || len(out.SamplesMS) == 0:
		return out, fmt.Errorf("the repeat's child %s and gave %d samples", exit, len(out.SamplesMS))
	}
	return out, nil
}

func read(e runner.PointDone) (repeat, error) {
	r, err := e.Decode()
	if err != nil {
		return repeat{}, err
	}
	if r.CPUMSPerIter == nil {
		return repeat{}, errors.New("the repeat does not say how much CPU time it took")
	}
	return repeat{r.SamplesMS, *r.CPUMSPerIter, r.Threads, r.AttnImpl}, nil
}

// subject is what the bare loop needs to know: the same recipe, settings and
// stop rule.
func (r *repeater) subject() ([]byte, error) {
	return json.Marshal(struct {
		Recipe  json.RawMessage    `json:"recipe"`
		Batch   int                `json:"batch"`
		Threads int                `json:"threads"`
		Timing  *runner.TimingRule `json:"timing"`
	}{r.job.Recipe, subjectBatch, r.job.Threads, r.job.Timing})
}
