package weblab

import (
	"context"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/internal/session"
)

// ServeSession is Serve with a session that runs what guests choose, and journals
// it in a folder. What guests need is made before any of them comes: the
// environments, and the runner.
func ServeSession(ctx context.Context, s *session.Session, dir string, o Options) (*Lab, error) {
	guests, err := s.Guests(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx, cell.Plan{Cells: o.Models}); err != nil {
		return nil, err
	}
	o.Pages, o.Engine = guests.Pages, guests.Engine
	o.Record = func(ctx context.Context, plan cell.Plan, g session.Guest, on progress.Listener) error {
		return s.RecordGuest(ctx, plan, g, dir, on)
	}
	return Serve(o)
}

// LendSession is Serve for guests whose browsers work for others: see Options.Lend. What they need is made before any of
// them comes.
func LendSession(ctx context.Context, s *session.Session, o Options) (*Lab, error) {
	guests, err := s.Guests(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx, cell.Plan{Cells: []cell.Cell{{Type: "bert", Platform: platform.WebGPU}}}); err != nil {
		return nil, err
	}
	o.Pages, o.Engine = guests.Pages, guests.Engine
	return Serve(o)
}
