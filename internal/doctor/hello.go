package doctor

import (
	"context"
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/platform"
	"assay/internal/runner"
	"assay/internal/runner/python"
)

// hello starts the runner and has it do nothing once.
func hello(ctx context.Context, env environment.Environment) (Greeting, error) {
	r, err := python.Runner{Python: env.Python, Env: env.Environ(ctx)}.Start(ctx)
	if err != nil {
		return Greeting{}, err
	}
	defer r.Close()
	exit, err := r.Run(ctx, runner.Job{Kind: runner.NoopJob, Cell: cell.Cell{Type: "noop", Engine: platform.Noop}.Normal()}, nil)
	if err != nil {
		return Greeting{}, err
	}
	if exit.Outcome() != runner.Finished {
		return Greeting{}, fmt.Errorf("its child %s", exit)
	}
	h := r.Hello()
	return Greeting{
		Words: fmt.Sprintf("protocol %d, children by %s, a no-op child ran", h.Protocol, h.Start),
		Slow:  strings.Join(h.Notes, "; "),
	}, nil
}
