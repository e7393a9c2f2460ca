package session

import (
	"context"

	"assay/internal/environment"
	"assay/internal/runner"
	"assay/internal/runner/python"
)

// Environments opens what cells run in, making it if need be. It is asked by one
// goroutine at a time for each.
type Environments interface {
	// Python is the environment that the user chose.
	Python(ctx context.Context) (environment.Environment, error)
	// Bare is any Python at all with the runner's sources: enough for no-ops.
	Bare(ctx context.Context) (environment.Environment, error)
	// Web is what pages in browsers load.
	Web(ctx context.Context) (environment.Web, error)
	// Present and PresentWeb are Python and Web as they are there already:
	// nothing is installed.
	Present(ctx context.Context) (environment.Environment, error)
	PresentWeb() (environment.Web, error)
}

// Chosen are the environments that a maker makes of a user's choice.
type Chosen struct {
	Maker  *environment.Maker
	Choice environment.Choice
}

// Python opens the one that was chosen.
func (c Chosen) Python(ctx context.Context) (environment.Environment, error) {
	return c.Maker.Open(ctx, c.Choice)
}

// Bare finds an interpreter.
func (c Chosen) Bare(ctx context.Context) (environment.Environment, error) {
	return c.Maker.Bare(ctx, c.Choice)
}

// Web opens the web environment.
func (c Chosen) Web(ctx context.Context) (environment.Web, error) {
	return c.Maker.OpenWeb(ctx, c.Choice)
}

// Present opens the chosen one if it is there.
func (c Chosen) Present(ctx context.Context) (environment.Environment, error) {
	choice := c.Choice
	choice.NoSetup = true
	return c.Maker.Open(ctx, choice)
}

// PresentWeb finds the web environment.
func (c Chosen) PresentWeb() (environment.Web, error) { return c.Maker.FindWeb() }

// open is a runner and the environment it lives in.
type open struct {
	runner.Runner
	env environment.Environment
}

// runner returns the runner that a plan needs, started.
func (s *Session) runner(ctx context.Context, bare bool) (*open, error) {
	if bare {
		return s.bare.Get(ctx)
	}
	return s.whole.Get(ctx)
}

func (s *Session) startWhole(ctx context.Context) (*open, error) {
	env, err := s.environment.Get(ctx)
	if err != nil {
		return nil, err
	}
	return s.startRunner(ctx, env, false)
}

func (s *Session) startBare(ctx context.Context) (*open, error) {
	env, err := s.o.Environments.Bare(ctx)
	if err != nil {
		return nil, err
	}
	return s.startRunner(ctx, env, true)
}

func (s *Session) startRunner(ctx context.Context, env environment.Environment, bare bool) (*open, error) {
	r, err := s.start(ctx, env, bare)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.untold = append(s.untold, r.Hello().Notes...)
	s.mu.Unlock()
	return &open{Runner: runner.Lowering{Runner: r, Levels: levels(env)}, env: env}, nil
}

func startPython(confine func(runner.Command) runner.Command) func(context.Context, environment.Environment, bool) (runner.Runner, error) {
	return func(ctx context.Context, env environment.Environment, bare bool) (runner.Runner, error) {
		r, err := python.Runner{Python: env.Python, Env: env.Environ(ctx), Bare: bare, Confine: confine}.StartRestarting(ctx)
		if err != nil {
			return nil, err // a typed nil in the interface would not be nil
		}
		return r, nil
	}
}
