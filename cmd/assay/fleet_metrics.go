package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"assay/internal/fleet"
	"assay/internal/fleet/metrics"
)

// serveMetrics serves a fleet's state for Prometheus until what it returns is called.
func (a *app) serveMetrics(ctx context.Context, addr string, office fleet.Office) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, usage("--metrics: %w", err)
	}
	server := &http.Server{Handler: metrics.Handler(office.Status), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(l) }()
	a.say(fmt.Sprintf("metrics are at http://%s/metrics", l.Addr()))
	return func() { _ = server.Close() }, nil
}
