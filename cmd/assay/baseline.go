package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/baseline"
	"assay/internal/compare"
	"assay/internal/report"

	"github.com/spf13/cobra"
)

func baselineCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "baseline", Short: "Results kept under a name, to compare later ones with",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(baselineSet(a), baselineList(a), baselineRemove(a), baselineExport(a))
	return c
}

func baselineSet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "set NAME [SIDE]", Short: "Keep the results of a side, or of the latest run, under a name",
		Long: `Set keeps of each cell the newest result of SIDE (default latest; see "assay compare --help" for what a side may be),
in place of what was kept under the name before. A file that "assay baseline export" wrote is a side too.
A baseline is of one machine, known by its processor, devices, memory class and driver.`,
		Example: `  assay test bert --platform cpu --as nightly && assay baseline set release nightly`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			find, err := a.finder()
			if err != nil {
				return err
			}
			word := "latest"
			if len(args) == 2 {
				word = args[1]
			}
			side, err := find.Find(c.Context(), word)
			if err != nil {
				return err
			}
			b, err := find.Baselines.Set(args[0], side, time.Now(), version)
			if err != nil {
				return asMistake(err)
			}
			for _, n := range side.Notes {
				a.say(n)
			}
			return a.print(b, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "baseline %s: %s, %d of them timed, of %s\n", b.Name, counted(b.Cells, "cell", "cells"), b.Timed, compare.MachineName(b.Host))
				return err
			})
		},
	}
}

func baselineList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the baselines", Example: "  assay baseline ls", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			folder, err := a.baselines()
			if err != nil {
				return err
			}
			list, err := folder.List()
			if err != nil {
				return err
			}
			return a.print(list, func(w io.Writer) error { return report.WriteBaselines(w, list) })
		},
	}
}

func baselineRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "Forget a baseline", Example: "  assay test bert --platform cpu && assay baseline set old && assay baseline rm old", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := a.baselines()
			if err != nil {
				return err
			}
			return asMistake(folder.Remove(args[0]))
		},
	}
}

func baselineExport(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME FILE", Short: "Write a baseline to one file that a repository can hold",
		Long: `Export writes a journal with a line for each cell: its verdict, its context and the median of each repeat.
"assay compare FILE latest" and "assay baseline set NAME FILE" take it, on any machine.`,
		Example: "  assay test bert --platform cpu && assay baseline set kept && assay baseline export kept kept.jsonl",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			folder, err := a.baselines()
			if err != nil {
				return err
			}
			side, err := folder.Read(c.Context(), args[0])
			if err != nil {
				return asMistake(err)
			}
			if err := writable(args[1]); err != nil {
				return err
			}
			if err := baseline.Write(args[1], args[0], side, time.Now(), version); err != nil {
				return err
			}
			a.say(fmt.Sprintf("wrote %s: %s", args[1], counted(len(side.Entries), "cell", "cells")))
			return nil
		},
	}
}

// asMistake tells what the user named wrongly from a program that failed.
func asMistake(err error) error {
	if missing := (*baseline.MissingError)(nil); errors.As(err, &missing) {
		return usage("%w", err)
	}
	if refused := (*baseline.RefusedError)(nil); errors.As(err, &refused) {
		return usage("%w", err)
	}
	return err
}
