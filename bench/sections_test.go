package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChosen(t *testing.T) {
	t.Parallel()
	all, err := chosen("", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"commands", "overhead", "sweep", "fleet", "types", "harness-cpu", "cold", "bare", "openvino", "a-against-a", "ranks", "derived"}, all); diff != "" {
		t.Errorf("without --only (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		only, gpu string
		want      []string
		fails     bool
	}{
		{only: "sweep,cold", want: []string{"sweep", "cold"}},
		{only: "sweep gpu", gpu: "r.jsonl", want: []string{"sweep", "gpu"}},
		{gpu: "r.jsonl", want: []string{"gpu"}},
		{only: "gpu", fails: true},
		{only: "sweeps", fails: true},
	} {
		got, err := chosen(c.only, c.gpu)
		if (err != nil) != c.fails {
			t.Errorf("chosen(%q, %q): error %v", c.only, c.gpu, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("chosen(%q, %q) (-want +got):\n%s", c.only, c.gpu, diff)
		}
	}
}

func TestSubcommands(t *testing.T) {
	t.Parallel()
	const help = `Maintain the database

Usage:
  assay db [command]

Available Commands:
  help        Help about any command
  path        Print where the database and its journals are
  rebuild     Rebuild the database

Flags:
  -h, --help   help for db
`
	if diff := cmp.Diff([]string{"path", "rebuild"}, subcommands(help)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := subcommands("Usage:\n  assay version\n"); got != nil {
		t.Errorf("a command without commands has %q", got)
	}
}
