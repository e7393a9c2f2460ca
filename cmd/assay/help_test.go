package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// inside is an outside without terminal or variables, for commands that are
// run in this process.
func inside() (*env, *bytes.Buffer) {
	var out bytes.Buffer
	return &env{
		stdin: strings.NewReader(""), stdout: &out, stderr: &out,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }, width: 100,
	}, &out
}

// commands are all commands of the program, depth first.
func commands() []*cobra.Command {
	e, _ := inside()
	var out []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		out = append(out, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root(e))
	return out
}

// words are the arguments that name a command.
func words(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[1:] }

// TestHelp: every command explains itself, with examples that begin with its
// own name; those that run cells list the exit statuses.
func TestHelp(t *testing.T) {
	t.Parallel()
	cells := []string{"assay test", "assay bench", "assay matrix"}
	for _, c := range commands() {
		path := c.CommandPath()
		e, out := inside()
		if status := run(context.Background(), e, append(words(c), "--help")); status != exitOK {
			t.Errorf("%s --help: status %d\n%s", path, status, out)
			continue
		}
		help := out.String()
		if strings.Contains(help, "(default [") {
			t.Errorf("%s --help shows a default as Go writes lists:\n%s", path, help)
		}
		if c.Short == "" || !strings.Contains(help, "Usage:") {
			t.Errorf("%s --help does not say what it is for:\n%s", path, help)
		}
		if c.Runnable() && !c.HasSubCommands() && !c.Hidden || slices.Contains(cells, path) {
			checkExamples(t, c, help)
		}
		if slices.Contains(cells, path) {
			for _, status := range []string{"Exit status: 0 ", "1 the program failed", "2 wrong usage", "3 some cell fails", "4 requested hardware", "130 interrupted"} {
				if !strings.Contains(strings.ReplaceAll(help, "\n", " "), status) {
					t.Errorf("%s --help does not list %q", path, status)
				}
			}
		}
	}
}

func checkExamples(t *testing.T, c *cobra.Command, help string) {
	t.Helper()
	if !strings.Contains(help, "Examples:") {
		t.Errorf("%s --help has no examples", c.CommandPath())
	}
	for line := range strings.Lines(c.Example) {
		if !strings.Contains(line, c.CommandPath()) && !strings.Contains(line, c.Parent().CommandPath()) {
			t.Errorf("the example %q of %s is about something else", line, c.CommandPath())
		}
	}
}
