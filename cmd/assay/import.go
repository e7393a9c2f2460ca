package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"assay/internal/input"
	"assay/internal/journal"

	"github.com/spf13/cobra"
)

func importCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE…",
		Short: "Import results: a worker's file, another journal, or the JSON of test and bench",
		Long: `Import adds the results of each FILE (- is standard input) to this machine's journals. Importing a file twice changes nothing.
What was imported is marked so wherever it is shown, and its host is called imported:ID: it is never this machine's own.
A line that Assay would not have written, or that contradicts what was detected on its host, is refused and named.`,
		Example: `  assay import results.jsonl
  assay test bert --json | assay import -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := a.home().JournalsToWrite(c.Context())
			if err != nil {
				return err
			}
			s := a.openLook()
			defer s.Close()
			var failed error
			machine := s.Here()
			for _, path := range args {
				failed = errors.Join(failed, a.importFile(c.Context(), path, dir, machine))
			}
			return failed
		},
	}
}

func (a *app) importFile(ctx context.Context, path, dir string, here journal.Here) error {
	done, err := importSource(ctx, a.stdin, path, dir, here)
	if special := (*input.SpecialError)(nil); errors.Is(err, fs.ErrNotExist) || errors.As(err, &special) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	for _, p := range done.Problems {
		a.say("warning: " + p.Error())
	}
	answer := importAnswer{Schema: 1, Run: done.RunID, New: done.New, Known: done.Known, Local: done.Local, Problems: len(done.Problems)}
	return a.print(answer, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: run %s, %d new lines, %d already here\n", sourceName(path), done.RunID, done.New, done.Known)
		if done.Local > 0 {
			fmt.Fprintf(w, "  of these, %d cannot be run elsewhere: the model or its weights are files of the machine where it ran\n", done.Local)
		}
		return err
	})
}

func importSource(ctx context.Context, stdin io.Reader, path, dir string, here journal.Here) (journal.Imported, error) {
	if path == input.Stdin {
		return journal.ImportFrom(ctx, stdin, sourceName(path), dir, here)
	}
	return journal.Import(ctx, path, dir, here)
}

func sourceName(path string) string {
	if path == input.Stdin {
		return "standard input"
	}
	return path
}
