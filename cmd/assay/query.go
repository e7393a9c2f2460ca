package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/history"
	"assay/internal/input"
	"assay/internal/journal"
	"assay/internal/platform"
	"assay/internal/store"

	"github.com/spf13/cobra"
)

// store opens the index over the journals.
func (a *app) store() (*store.Store, error) {
	db, journals, err := a.paths()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(db, journals)
	if err == nil {
		st.Waiting = a.say
	}
	return st, err
}

// history is what is asked of past results.
func (a *app) history() (*history.History, error) {
	st, err := a.store()
	if err != nil {
		return nil, err
	}
	return history.In(st), nil
}

// journalsToWrite is the folder that results go into. Where the user named the
// database, it is looked at first: results are put beside no other program's file.
func (a *app) journalsToWrite(ctx context.Context) (string, error) {
	st, err := a.store()
	if err != nil {
		return "", err
	}
	if a.db != "" {
		if err := st.Writable(ctx); err != nil {
			return "", err
		}
	}
	return st.Journals(), nil
}

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
			dir, err := a.journalsToWrite(c.Context())
			if err != nil {
				return err
			}
			var failed error
			machine := here()
			for _, path := range args {
				failed = errors.Join(failed, a.importFile(c.Context(), path, dir, machine))
			}
			return failed
		},
	}
}

// here is what a look at this machine tells without asking any engine: who it
// is, and what is not there.
func here() journal.Here {
	r := detect.JudgeFirst(detect.Look(detect.Live()))
	h := journal.Here{Host: r.Host.ID, Absent: map[string]bool{}}
	for _, p := range r.Platforms {
		h.Absent[string(p.Platform)] = p.Status == detect.Absent && !p.Seen
	}
	return h
}

func (a *app) importFile(ctx context.Context, path, dir string, here journal.Here) error {
	done, err := a.importSource(ctx, path, dir, here)
	if special := (*input.SpecialError)(nil); errors.Is(err, fs.ErrNotExist) || errors.As(err, &special) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	for _, p := range done.Problems {
		a.say("warning: " + p.Error())
	}
	if a.asJSON {
		return a.printJSON(importAnswer{Schema: 1, Run: done.RunID, New: done.New, Known: done.Known, Problems: len(done.Problems)})
	}
	fmt.Fprintf(a.stdout, "%s: run %s, %d new lines, %d already here\n", sourceName(path), done.RunID, done.New, done.Known)
	return nil
}

func (a *app) importSource(ctx context.Context, path, dir string, here journal.Here) (journal.Imported, error) {
	if path == input.Stdin {
		return journal.ImportFrom(ctx, a.stdin, sourceName(path), dir, here)
	}
	return journal.Import(ctx, path, dir, here)
}

func sourceName(path string) string {
	if path == input.Stdin {
		return "standard input"
	}
	return path
}

func queryCommand(a *app) *cobra.Command {
	var (
		sql, format, out string
		f                queryFilter
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
			if f.Limit < 0 {
				return usage("--limit %d is out of range: it must not be negative", f.Limit)
			}
			st, err := a.store()
			if err != nil {
				return err
			}
			if c.Flags().Changed("sql") && strings.TrimSpace(sql) == "" {
				return usage("--sql is empty: it takes one SELECT")
			}
			if err := f.check(); err != nil {
				return err
			}
			var args []any
			if sql == "" {
				sql, args = f.sql()
			} else if f != (queryFilter{Limit: f.Limit}) {
				return usage("--sql cannot be used with the filters --model, --platform and --verdict")
			}
			if out != "" {
				return a.export(c.Context(), st, sql, args, format, out)
			}
			rows, err := st.Query(c.Context(), sql, args...)
			if err != nil {
				return a.sqlUsage(err)
			}
			return a.printRows(rows, format)
		},
	}
	fs := c.Flags()
	fs.StringVar(&sql, "sql", "", "one SELECT")
	fs.StringVar(&f.Model, "model", "", "results of this type or checkpoint")
	fs.StringVar(&f.Platform, "platform", "", "results on this platform")
	fs.StringVar(&f.Verdict, "verdict", "", "results with this verdict")
	fs.IntVar(&f.Limit, "limit", 50, "maximum number of rows, newest first")
	fs.StringVar(&format, "format", "", "text, json, csv; with --out also parquet")
	fs.StringVar(&out, "out", "", "write to this file: .csv or .parquet")
	return c
}

// queryFilter is the question without SQL.
type queryFilter struct {
	Model, Platform, Verdict string
	Limit                    int
}

// check refuses words that no result can have.
func (f queryFilter) check() error {
	if f.Platform != "" {
		if _, err := platform.Parse(f.Platform); err != nil {
			return usage("%w", err)
		}
	}
	if f.Verdict != "" && !slices.Contains(cell.Verdicts(), cell.Verdict(f.Verdict)) {
		return usage("unknown verdict %q: the verdicts are %s", f.Verdict, platform.Join(cell.Verdicts()))
	}
	return nil
}

func (f queryFilter) sql() (string, []any) {
	sql := "select timestamp, model_id, hardware, size, dtype, batch, verdict, evidence, inference_time, memory_usage, imported, error from hardware_results where true"
	var args []any
	if f.Model != "" {
		// A checkpoint is found without its owner and its revision, a folder by its own name.
		sql += " and lower(?) in (lower(model_type), lower(model_id), lower(split_part(model_id, '@', 1)), lower(string_split(split_part(model_id, '@', 1), '/')[-1]))"
		args = append(args, f.Model)
	}
	for _, x := range []struct{ column, value string }{{"hardware", f.Platform}, {"verdict", f.Verdict}} {
		if x.value != "" {
			sql += " and " + x.column + " = ?"
			args = append(args, x.value)
		}
	}
	return sql + fmt.Sprintf(" order by timestamp desc, id desc limit %d", f.Limit), args
}

// sqlUsage tells a question that cannot be asked from a database that cannot answer.
func (a *app) sqlUsage(err error) error {
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
			st, err := a.store()
			if err != nil {
				return err
			}
			return a.rebuild(c.Context(), st)
		},
	}, &cobra.Command{
		Use: "path", Short: "Print where the database and its journals are",
		Example: "  assay db path", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			db, journals, err := a.paths()
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
	switch format {
	case "", "text":
		return rows.WriteText(a.stdout)
	case "json":
		return rows.WriteJSON(a.stdout)
	case "csv":
		return rows.WriteCSV(a.stdout)
	}
	return usage("unknown format %q: the formats are text, json, csv, and with --out parquet", format)
}

// export writes the answer into a file, whose ending names the format.
func (a *app) export(ctx context.Context, st *store.Store, sql string, args []any, format, path string) error {
	if len(args) > 0 {
		return usage("--out needs --sql: a filter cannot be written to a file")
	}
	if format == "" {
		format = strings.TrimPrefix(filepath.Ext(path), ".")
	}
	if f := store.Format(format); f != store.CSV && f != store.Parquet {
		return usage("unknown format %q: a file is .csv or .parquet", format)
	}
	if err := st.Export(ctx, sql, store.Format(format), path); err != nil {
		return a.sqlUsage(err)
	}
	fmt.Fprintf(a.stdout, "wrote %s\n", path)
	return nil
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
