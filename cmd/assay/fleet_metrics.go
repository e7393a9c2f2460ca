package main

import (
	"bytes"
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
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		s, err := office.Status(r.Context())
		var text bytes.Buffer
		if err == nil {
			err = metrics.Write(&text, s)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(l) }()
	a.say(fmt.Sprintf("metrics are at http://%s/metrics", l.Addr()))
	return func() { _ = server.Close() }, nil
}
