package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assay/internal/store"

	"github.com/spf13/cobra"
)

func queryCommand(a *app) *cobra.Command {
	var (
		sql, format, out string
		q                store.Question
	)
	c := &cobra.Command{
		Use:   "query",
		Short: "Ask the results: SQL over the views, or a filter",
		Long: `Query reads what is stored; it changes nothing and answers while a sweep runs. The views for plain SQL:
  hardware_results(id, model_id, model_type, hardware, success, load_time, inference_time, memory_usage, error,
    timestamp, output_shape, evidence, verdict, requested, size, weights, dtype, batch, mode, host, imported)
  hardware_detection(id, hardware_type, available, name, features, timestamp, imported)
Times are seconds, memory is megabytes; inference_time is null unless bench measured it.`,
		Example: `  assay query
  assay query --model bert --platform cpu
  assay query --sql "select hardware, count(*) from hardware_results group by hardware"
  assay query --sql "from hardware_detection" --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if q.Limit < 0 {
				return usage("--limit %d is out of range: it must not be negative", q.Limit)
			}
			st, err := a.home().Store()
			if err != nil {
				return err
			}
			if c.Flags().Changed("sql") && strings.TrimSpace(sql) == "" {
				return usage("--sql is empty: it takes one SELECT")
			}
			if err := q.Check(); err != nil {
				return usage("%w", err)
			}
			var args []any
			if sql == "" {
				sql, args = q.SQL()
			} else if q.Filters() {
				return usage("--sql cannot be used with the filters --model, --platform and --verdict")
			}
			if out != "" {
				err := writeAnswer(c.Context(), st, sql, args, format, out)
				if err == nil {
					fmt.Fprintf(a.stdout, "wrote %s\n", out)
				}
				return err
			}
			rows, err := st.Query(c.Context(), sql, args...)
			if err != nil {
				return sqlUsage(err)
			}
			return a.printRows(rows, format)
		},
	}
	fs := c.Flags()
	fs.StringVar(&sql, "sql", "", "one SELECT")
	fs.StringVar(&q.Model, "model", "", "results of this type or checkpoint")
	fs.StringVar(&q.Platform, "platform", "", "results on this platform")
	fs.StringVar(&q.Verdict, "verdict", "", "results with this verdict")
	fs.IntVar(&q.Limit, "limit", 50, "maximum number of rows, newest first")
	fs.StringVar(&format, "format", "", "text, json, csv; with --out also parquet")
	fs.StringVar(&out, "out", "", "write to this file: .csv or .parquet")
	c.AddCommand(queryHistory(a), queryLimited(a))
	return c
}

// sqlUsage tells a question that cannot be asked from a database that cannot answer.
func sqlUsage(err error) error {
	var bad *store.StatementError
	var wrong *store.SQLError
	if errors.As(err, &bad) || errors.As(err, &wrong) {
		return &statusError{exitUsage, err}
	}
	return err
}

func dbCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "db", Short: "Maintain the database", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(&cobra.Command{
		Use: "rebuild", Short: "Rebuild the database from the journals; a broken one is set aside",
		Example: "  assay db rebuild", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			st, err := a.home().Store()
			if err != nil {
				return err
			}
			return a.rebuild(c.Context(), st)
		},
	}, &cobra.Command{
		Use: "path", Short: "Print where the database and its journals are",
		Example: "  assay db path", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			db, journals, err := a.home().Paths()
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s\n%s\n", db, journals)
			return nil
		},
	})
	return c
}

// printRows writes the answer as the flags ask.
func (a *app) printRows(rows *store.Rows, format string) error {
	for _, n := range rows.Notes {
		a.say("note: " + n)
	}
	if a.asJSON && format == "" {
		format = "json"
	}
	err := rows.Write(a.stdout, format)
	if unknown := (*store.FormatError)(nil); errors.As(err, &unknown) {
		return usage("%w", err)
	}
	return err
}

// writeAnswer writes the answer into a file, whose ending names the format.
func writeAnswer(ctx context.Context, st *store.Store, sql string, args []any, format, path string) error {
	if len(args) > 0 {
		return usage("--out needs --sql: a filter cannot be written to a file")
	}
	f, err := store.FileFormat(format, path)
	if err != nil {
		return usage("%w", err)
	}
	return sqlUsage(st.Export(ctx, sql, f, path))
}

func (a *app) rebuild(ctx context.Context, st *store.Store) error {
	done, err := st.Rebuild(ctx)
	if err != nil {
		return err
	}
	if done.Aside != "" {
		a.say("the old file could not be used; it is kept as " + done.Aside)
	}
	for _, p := range done.Problems {
		a.say("warning: " + p.Error())
	}
	fmt.Fprintf(a.stdout, "rebuilt %s from %s\n", st.Path(), st.Journals())
	return nil
}
