//go:build cgo

package stored

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay/internal/dash"
	"assay/internal/home"
)

// asks makes this test program the process that answers, and floods one that never stops.
const (
	asks   = "ASSAY_TEST_ANSWERS"
	floods = "ASSAY_TEST_FLOODS"
	limits = "ASSAY_TEST_LIMITS" // one that tells its own
)

func TestMain(m *testing.M) {
	if os.Getenv(limits) != "" {
		err := limitProcess(processTakes)
		text, bad := os.ReadFile("/proc/self/limits")
		if _, failed := os.Stdout.Write(text); errors.Join(err, bad, failed) != nil {
			panic(errors.Join(err, bad, failed))
		}
		return
	}
	if os.Getenv(floods) != "" { // it ends when nobody reads any more
		for line := []byte(strings.Repeat("x", 1<<16)); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return
			}
		}
	}
	if db := os.Getenv(asks); db != "" {
		if err := (Past{Home: home.Home{Getenv: os.Getenv, DB: db}}).Answer(context.Background(), os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func past(t *testing.T) Past {
	t.Helper()
	db := filepath.Join(t.TempDir(), "a.duckdb")
	return Past{Home: home.Home{Getenv: os.Getenv, DB: db}, Now: time.Now, Asker: func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), asks+"="+db)
		return cmd, nil
	}}
}

// unseen is a question whose values DuckDB's own limit does not see.
const unseen = "SELECT repeat('x', 50000000) FROM range(60)"

// TestQueryHasLimits: whatever is asked, the answer is small, or the asker is told to ask for less.
func TestQueryHasLimits(t *testing.T) {
	t.Parallel()
	p := past(t)
	if text, err := p.Query(t.Context(), "SELECT count(*) AS n FROM results"); err != nil || string(text) != "{\"schema\":1,\"rows\":[\n{\"n\":0}\n]}\n" {
		t.Errorf("%s, %v", text, err)
	}
	wrong := map[string]string{
		"SELECT a.range FROM range(100000) a, range(100000) b": "more than 10000 rows",
		"SELECT repeat('x', 10000) FROM range(5000)":           "more than 16 MiB",
		"SELECT count(DISTINCT range) FROM range(100000000)":   "more memory",
		"FROM duckdb_secrets()":                                "no file but the database",
		"DROP TABLE results":                                   "only read-only",
		"SELECT nothing":                                       "nothing",
	}
	if runtime.GOOS == "linux" { // what DuckDB's own limit does not see
		wrong[unseen] = "more memory"
		wrong["WITH RECURSIVE x AS (SELECT 'xxxxxxxxxxxxxxxx' AS s, 0 AS n UNION ALL SELECT s || s, n + 1 FROM x WHERE n < 27) SELECT length(s) FROM x"] = "more memory"
	}
	for query, words := range wrong {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			text, err := p.Query(t.Context(), query)
			if bad := (*dash.WrongError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), words) {
				t.Errorf("%.100s, %v", text, err)
			}
		})
	}
}

// TestQueryTellsNoPlace: no question and no error tells where the database lies.
func TestQueryTellsNoPlace(t *testing.T) {
	t.Parallel()
	p := past(t)
	folder := filepath.Dir(p.Home.DB)
	for _, query := range []string{
		"PRAGMA database_list", "pragma \"database_list\"", "FROM pragma_database_list", "FROM pragma_database_list()", "SELECT path FROM duckdb_databases()", "SELECT hex(path) FROM DUCKDB_databases",
		"FROM \"duckdb_databases\"()", "FROM system.main.duckdb_databases()", "DESCRIBE duckdb_databases", "SUMMARIZE duckdb_databases", "SELECT reverse(value) FROM duckdb_settings()", "FROM pg_catalog.pg_settings",
		"SELECT current_setting('temp_directory')", "SELECT * FROM query('FROM duckdb_data' || 'bases()')", "FROM \"query\"('FROM duckdb_set' || 'tings()')", "FROM query/**/('FROM duckdb_data' || 'bases()')", "FROM query_table('duckdb_data' || 'bases')",
		"EXPLAIN ANALYZE SELECT path FROM duckdb_databases()",
	} {
		text, err := p.Query(t.Context(), query)
		if bad := (*dash.WrongError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s gave %s, %v", query, text, err)
		}
	}
	for _, query := range []string{
		"SHOW DATABASES", "PRAGMA database_size", "PRAGMA show_databases", "FROM duckdb_tables()", "FROM duckdb_views()", "FROM pg_catalog.pg_database", "FROM duckdb_profiling_settings()", "SELECT current_database()",
		"FROM information_schema.schemata", "FROM duckdb_schemas()", "FROM sqlite_master", "FROM duckdb_logs()", "FROM duckdb_external_file_cache()", "FROM duckdb_temporary_files()", "PRAGMA storage_info('results')", "SELECT 'query' AS query",
	} {
		text, err := p.Query(t.Context(), query)
		if err != nil && strings.Contains(err.Error(), folder) || strings.Contains(string(text), folder) {
			t.Errorf("%s told %s, %v", query, text, err)
		}
	}
	if err := os.WriteFile(p.Home.DB, []byte("no database of ours at all, but a text that is long enough to be taken for one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := p.Query(t.Context(), "SELECT 1"); err == nil || strings.Contains(err.Error(), folder) {
		t.Errorf("a broken database: %s, %v", text, err)
	}
}

// TestHidden: an error without the folder is still the asker's, or one to come back for.
func TestHidden(t *testing.T) {
	t.Parallel()
	folder, wrong, later := filepath.Join("a", "b"), (*dash.WrongError)(nil), (*dash.LaterError)(nil)
	is := errors.New("open database " + filepath.Join(folder, "c.duckdb") + ": no")
	if err := hidden(&dash.WrongError{Err: is}, folder); !errors.As(err, &wrong) || err.Error() != "open database c.duckdb: no" {
		t.Error(err)
	}
	if err := hidden(&dash.LaterError{Err: is}, folder); !errors.As(err, &later) || err.Error() != "open database c.duckdb: no" {
		t.Error(err)
	}
	if err := hidden(is, folder); err.Error() != "open database c.duckdb: no" {
		t.Error(err)
	}
	if err := hidden(nil, folder); err != nil {
		t.Error(err)
	}
}

// TestQueryTakesNoMore: the server keeps no more of what that process prints than an answer may have, whatever it prints.
func TestQueryTakesNoMore(t *testing.T) {
	t.Parallel()
	p := past(t)
	p.Asker = func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), floods+"=1")
		return cmd, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	text, err := p.Query(ctx, "SELECT 1")
	if err == nil || ctx.Err() != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	f := &first{most: 10}
	for _, part := range []string{"1234567", "89012345", "6"} {
		_, err = f.Write([]byte(part))
	}
	if err == nil || f.kept.String() != "1234567890" {
		t.Errorf("%s, %v", f.kept.String(), err)
	}
}

// TestQueryEndsInTime: a question that cannot be interrupted ends all the same.
func TestQueryEndsInTime(t *testing.T) {
	t.Parallel()
	p := past(t)
	if _, err := p.Query(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := p.Query(ctx, "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * 3 = b.range + 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
