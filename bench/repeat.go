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

// subject is what a repeat is of: a cell at several batches, one after the other in the same child.
type subject struct {
	cell    cell.Cell
	batches []int
}

func usualSubject() subject {
	return subject{cell.Cell{Type: subjectType, Size: cell.Tiny}, []int{subjectBatch}}
}

func (s subject) points() []runner.Point {
	var out []runner.Point
	for _, b := range s.batches {
		out = append(out, runner.Point{Batch: b})
	}
	return out
}

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
	return b.repeaterWith(ctx, usualSubject(), release)
}

// repeaterWith starts a zygote, and calls release when it is closed or cannot be.
func (b *bench) repeaterWith(ctx context.Context, of subject, release func()) (*repeater, error) {
	job, err := b.job(of)
	if err != nil {
		release()
		return nil, err
	}
	r, err := python.Runner{Python: b.env.Python, Env: b.env.Environ(ctx)}.StartRestarting(ctx)
	if err != nil {
		release()
		return nil, err
	}
	return &repeater{runner: r, release: release, job: job}, nil
}

// job is what the lab would send for a repeat of a subject.
func (b *bench) job(of subject) (runner.Job, error) {
	is := of.cell
	is.Batch = of.batches[0]
	is = is.Normal()
	recipe, err := b.catalog.Recipe(is.Type, "", is.Size, is.Checkpoint)
	if err != nil {
		return runner.Job{}, err
	}
	threads := b.threads
	if is.Platform == platform.CPU {
		threads = b.loopThreads()
	}
	return runner.Job{Kind: runner.TimeJob, Cell: is, Recipe: recipe, Points: of.points(), Timing: b.rule(), Threads: threads, Preload: true}, nil
}

// turnedTo is the same repeater with another job; the zygote is one.
func (r *repeater) turnedTo(job runner.Job) *repeater {
	return &repeater{runner: r.runner, job: job, release: func() {}}
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

// once carries one repeat of a subject with one batch out.
func (r *repeater) once(ctx context.Context) (repeat, error) {
	all, err := r.each(ctx)
	if err != nil {
		return repeat{}, err
	}
	return all[0], nil
}

// each carries one repeat out, and gives what it saw of each batch.
func (r *repeater) each(ctx context.Context) ([]repeat, error) {
	out := make([]repeat, len(r.job.Points))
	var failed error
	exit, err := r.runner.Run(ctx, r.job, func(e runner.Event) {
		switch e := e.(type) {
		case runner.PointDone:
			if e.Index < 0 || e.Index >= len(out) {
				failed = fmt.Errorf("the repeat reported point %d of %d", e.Index, len(out))
				return
			}
			one, err := read(e)
			if err != nil {
				failed = err
			}
			out[e.Index] = one
		case runner.Failure:
			failed = fmt.Errorf("the repeat failed: %s: %s", e.Type, e.Message)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case failed != nil:
		return nil, failed
	}
	for i, one := range out {
		if exit.Outcome() != runner.Finished || len(one.SamplesMS) == 0 {
			return nil, fmt.Errorf("the repeat's child %s and gave no samples of batch %d", exit, r.job.Points[i].Batch)
		}
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

// told is what the bare loop needs to know: the same recipe, settings and stop rule.
func (r *repeater) told() ([]byte, error) {
	var batches []int
	for _, p := range r.job.Points {
		batches = append(batches, p.Batch)
	}
	return json.Marshal(struct {
		Recipe  json.RawMessage    `json:"recipe"`
		Batches []int              `json:"batches"`
		Device  platform.Name      `json:"device"`
		DType   platform.DType     `json:"dtype"`
		Threads int                `json:"threads"`
		Timing  *runner.TimingRule `json:"timing"`
	}{r.job.Recipe, batches, r.job.Cell.Platform, r.job.Cell.DType, r.job.Threads, r.job.Timing})
}
