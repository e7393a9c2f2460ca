package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"assay/internal/environment"
	"assay/internal/runner"
)

// faked are environments that functions stand for; nil is none.
type faked struct {
	python func(context.Context) (environment.Environment, error)
	web    func(context.Context) (environment.Web, error)
}

func (f faked) Python(ctx context.Context) (environment.Environment, error) {
	if f.python == nil {
		return environment.Environment{}, errors.New("no environment here")
	}
	return f.python(ctx)
}

func (f faked) Bare(ctx context.Context) (environment.Environment, error) { return f.Python(ctx) }

func (f faked) Web(ctx context.Context) (environment.Web, error) {
	if f.web == nil {
		return environment.Web{}, errors.New("no web environment here")
	}
	return f.web(ctx)
}

func (f faked) Present(ctx context.Context) (environment.Environment, error) { return f.Python(ctx) }

func (f faked) PresentWeb() (environment.Web, error) {
	return environment.Web{}, environment.ErrNoWeb
}

// scripted is a runner whose children do what a function says, and say of every
// point that it is right.
type scripted struct {
	during  func(ctx context.Context, job runner.Job)
	release string // of transformers

	mu     sync.Mutex
	jobs   []runner.Job
	closed int
}

func (s *scripted) Hello() runner.Hello {
	return runner.Hello{Versions: map[string]string{"torch": "2.15.0", "transformers": s.release}}
}

func (s *scripted) Run(ctx context.Context, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
	s.mu.Lock()
	s.jobs = append(s.jobs, job)
	s.mu.Unlock()
	if s.during != nil {
		s.during(ctx, job)
	}
	for i := range job.Points {
		on(runner.PointDone{Index: i, Report: json.RawMessage(`{"finite":true,"constant":false,"numerics":{"pass":true,"reference":"cpu fp64","max_rel":1e-6,"tolerance":1e-3},"phases_ms":{"run":1}}`)})
	}
	return runner.Exit{}, nil
}

func (s *scripted) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

// scriptedSession is a session whose runner is scripted, in an environment that is there.
func scriptedSession(t *testing.T, r *scripted, o Options) *Session {
	t.Helper()
	if o.Environments == nil {
		o.Environments = faked{python: func(context.Context) (environment.Environment, error) { return environment.Environment{}, nil }}
	}
	o.Catalog = load(t)
	r.release = o.Catalog.Transformers // whose recipes need no trying
	s := New(o)
	s.start = func(context.Context, environment.Environment, bool) (runner.Runner, error) { return r, nil }
	return s
}
