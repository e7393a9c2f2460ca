package main

import (
	"context"
	"os/exec"
	"time"

	"assay/internal/dash/stored"

	"github.com/spf13/cobra"
)

// queryLimited answers one question of the dashboard's, in a process that may take little and can be ended.
func queryLimited(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "limited", Short: "Answer one question in SQL from standard input, within the limits of the HTTP API", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return stored.Past{Home: a.home(), Now: time.Now}.Answer(c.Context(), a.stdin, a.stdout)
		},
	}
}

// asker starts that process.
func asker(a *app) func(context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) { return a.itself().command(ctx, "query", "limited") }
}
