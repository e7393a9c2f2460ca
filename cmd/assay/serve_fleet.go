package main

import (
	"context"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/keys"
	"assay/internal/fleet/wire"
)

// watchFleet is how a coordinator's fleet is asked for the dashboard; nil where none is named. The coordinator need not be there yet.
func (a *app) watchFleet(at string) (status func(context.Context) (fleet.Status, error), leave func(), err error) {
	if at == "" {
		return nil, func() {}, nil
	}
	t, err := keys.Read(at)
	if err == nil {
		err = t.For(keys.User)
	}
	if err != nil {
		return nil, nil, usage("--fleet: %w", err)
	}
	nc, err := t.Connect(wire.Options{Name: "assay serve", Keep: true, On: func(text string) { a.log.Info(text) }})
	if err != nil {
		return nil, nil, err
	}
	return wire.NewClient(nc, t.Name, 3*time.Second).Status, nc.Close, nil
}
