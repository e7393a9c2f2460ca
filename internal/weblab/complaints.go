package weblab

import (
	"context"
	"log/slog"
	"strings"
)

// complaints hands on what the HTTP server has to say, less broken handshakes:
// every phone that asks its user about the certificate breaks one off first.
type complaints func(string)

// Enabled takes everything.
func (c complaints) Enabled(context.Context, slog.Level) bool { return true }

// Handle hands a line on.
func (c complaints) Handle(_ context.Context, r slog.Record) error {
	if !strings.Contains(r.Message, "TLS handshake error") {
		c(r.Message)
	}
	return nil
}

// WithAttrs adds nothing: the server gives lines alone.
func (c complaints) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup adds nothing either.
func (c complaints) WithGroup(string) slog.Handler { return c }
