package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"assay/internal/confine"
	"assay/internal/environment"
	"assay/internal/runner"
)

// confined is a policy at work: what it changes of a session.
type confined struct {
	policy confine.Policy
	ready  *confine.Confinement // nil where there is no policy
}

// underPolicy reads the policy that was asked for and makes it ready. What it does not allow
// cannot be asked for by a flag either.
func (f *flags) underPolicy(folders environment.Folders, stderr io.Writer) (*confined, error) {
	if f.policy == "" {
		return &confined{}, nil
	}
	p, err := confine.Load(f.policy)
	if err != nil {
		return nil, usageError{err}
	}
	switch {
	case f.want.Pickle && !p.Pickle:
		return nil, usageError{fmt.Errorf("%s does not allow pickled weights: leave --allow-pickle out", f.policy)}
	case f.want.Code && !p.Code:
		return nil, usageError{fmt.Errorf("%s does not allow a model's own code: leave --trust-remote-code out", f.policy)}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c, err := confine.Ready(p, program, folders.Cache, os.TempDir())
	if err != nil {
		return nil, usageError{err}
	}
	for _, line := range c.Plan() {
		fmt.Fprintln(stderr, "policy:", line)
	}
	f.offline = f.offline || !p.Hub
	if limit := time.Duration(p.Limits.Time); limit > 0 && (f.timeout == 0 || f.timeout > limit) {
		f.timeout = limit
	}
	return &confined{p, c}, nil
}

// wrap is how runners are started under the policy; nil where there is none.
func (c *confined) wrap() func(runner.Command) runner.Command {
	if c.ready == nil {
		return nil
	}
	return c.ready.Wrap
}

func (c *confined) Close() error { return c.ready.Close() }
