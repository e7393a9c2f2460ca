package pages

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"

	"assay/internal/runner"
)

// Inner is what runs jobs: the runner whose children use pages.
type Inner interface {
	Run(ctx context.Context, job runner.Job, on func(runner.Event)) (runner.Exit, error)
}

// Runner gives the jobs of web engines a visit, and hands all jobs on.
type Runner struct {
	Inner Inner
	Host  *Host
	In    Browsers // that open the pages; nil are the host's own
}

// Run runs a job; what it opened in a browser is gone when it returns.
func (r Runner) Run(ctx context.Context, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
	asks := job.Kind == runner.CheckJob || job.Kind == runner.TimeJob
	if !asks || !job.Cell.Engine.Traits().Pages {
		return r.Inner.Run(ctx, job, on)
	}
	v := r.Host.Visit(ctx, Where{Target: job.Cell.Where(), Alone: job.Kind == runner.TimeJob, In: r.In})
	job.Options = maps.Clone(job.Options)
	if job.Options == nil {
		job.Options = map[string]any{}
	}
	job.Options["page"] = v.Address()
	if r.In != nil { // what was seen in one guest's browser says nothing about another's
		job.Options["guest"] = rand.Text()
	}
	exit, err := r.Inner.Run(ctx, job, on)
	return exit, errors.Join(err, v.Close())
}
