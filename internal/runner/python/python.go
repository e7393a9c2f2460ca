// Package python says how the Python runner is started: which interpreter,
// which sources, which environment variables. Everything else about it is in
// the package assay_runner itself and in docs/protocol.md.
package python

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"assay/internal/runner"
)

// Runner says how a Python runner is to be started.
type Runner struct {
	Python string // the interpreter: a path, or a name that PATH knows
	// Bare leaves torch and transformers alone: enough for no-op jobs, and
	// ready in a twentieth of a second.
	Bare bool
	// Spawn gives each job a fresh interpreter instead of a fork. Systems
	// that cannot fork safely do so anyway.
	Spawn bool
	// Env is all of its environment, as internal/environment makes it. Without
	// it nothing starts: a child does not inherit what this process holds.
	Env    []string
	Limits runner.Limits
	// Confine changes the command line that starts it; nil does not.
	Confine func(runner.Command) runner.Command
}

// Command is the command line that starts the runner.
func (r Runner) Command() runner.Command {
	args := []string{"-m", "assay_runner", "zygote"}
	if r.Bare {
		args = append(args, "--bare")
	}
	if r.Spawn {
		args = append(args, "--spawn")
	}
	c := runner.Command{Path: r.Python, Args: args, Env: r.Env}
	if r.Confine != nil {
		c = r.Confine(c)
	}
	return c
}

// Environment is what every command of assay_runner needs to be found and to
// find nothing else: its sources before the user's own PYTHONPATH, and, as
// -P does from Python 3.11 on, nothing from the working directory.
func Environment(sources string) []string {
	path := sources
	if own := os.Getenv("PYTHONPATH"); own != "" {
		path += string(filepath.ListSeparator) + own
	}
	return []string{"PYTHONPATH=" + path, "PYTHONSAFEPATH=1", "PYTHONIOENCODING=utf-8:backslashreplace"}
}

// Start starts one runner, which is not started again when it dies.
func (r Runner) Start(ctx context.Context) (runner.Runner, error) {
	if r.Env == nil {
		return nil, errors.New("a Python runner needs an environment of its own")
	}
	p, err := runner.Start(ctx, r.Command(), r.Limits)
	if err != nil {
		return nil, err // a typed nil in the interface would not be nil
	}
	return p, nil
}

// StartRestarting starts a runner that is replaced when it dies.
func (r Runner) StartRestarting(ctx context.Context) (*runner.Restarting, error) {
	return runner.NewRestarting(ctx, r.Start)
}
