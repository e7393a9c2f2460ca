//go:build cgo

package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var small = Limits{Rows: 20, Bytes: 1 << 20, Memory: "64MiB"}

// TestAnswerIsThatOfQuery: the same bytes, whatever the question looks like.
func TestAnswerIsThatOfQuery(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0), unavailable())
	for _, query := range []string{
		"SELECT 1 AS a, 2 AS a, 3 AS a_1", "select 1; -- done", "(SELECT 'it''s' AS a)", "WITH x AS (SELECT id FROM results) FROM x ORDER BY id DESC", "VALUES (1), (2)",
		"SELECT range AS n FROM range(100) ORDER BY n DESC LIMIT 3", "DESCRIBE SELECT 1 AS a", "SHOW TABLES", "SELECT 1 WHERE false", "TABLE runs", "EXPLAIN SELECT 1",
		strings.ReplaceAll(everything, "1 AS yes", "2 AS yes"),
	} {
		rows, err := s.Query(t.Context(), query)
		must(t, err)
		var want bytes.Buffer
		must(t, rows.WriteJSON(&want))
		got, err := s.Answer(t.Context(), query, small)
		must(t, err)
		if string(got) != want.String() {
			t.Errorf("%s gave %s, want %s", query, got, &want)
		}
	}
}

func TestAnswerHasLimits(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	for query, words := range map[string]string{
		"FROM range(21)": "more than 20 rows",
		"SELECT a.range FROM range(100000) a, range(100000) b":       "more than 20 rows", // not made whole first
		"SELECT repeat('x', 100000) FROM range(20)":                  "more than 1 MiB",
		"SELECT count(DISTINCT range) FROM range(20000000)":          "more memory",
		"SELECT range, count(*) FROM range(20000000) GROUP BY range": "more memory", // not spilled to the disk
		"SELECT list(range) FROM range(20000000)":                    "more memory",
	} {
		_, err := s.Answer(t.Context(), query, small)
		if limit := (*LimitError)(nil); !errors.As(err, &limit) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s gave %v", query, err)
		}
	}
	if spilled, err := filepath.Glob(s.Path() + "*tmp*"); err != nil || len(spilled) > 0 {
		t.Errorf("on the disk: %v %v", spilled, err)
	}
}

// TestAnswerTellsOfTheQuestion: an error that comes while it is answered shows nothing of the statement that it was made.
func TestAnswerTellsOfTheQuestion(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for query, want := range map[string]string{"SELECT 'a'::INTEGER": "Could not convert string", "SELECT 1 -- \x00": "a NUL in it"} {
		text, err := s.Answer(t.Context(), query, small)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "query(") {
			t.Errorf("%q gave %s, %v", query, text, err)
		}
	}
	if sets := strings.Join(small.within(settings{}).sets, "; "); !strings.Contains(sets, "SET threads = 2") { // machines with two have that anyway
		t.Error(sets)
	}
}

// TestSQLReachesNothing: no way to read or write a file, to reach a network, or to change
// a setting works, and each is the asker's error. What answers has been looked at, and tells of the database only.
func TestSQLReachesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	dir := t.TempDir()
	outside := filepath.Join(dir, "x.csv")
	must(t, os.WriteFile(outside, []byte("secret\nhush\n"), 0o644))
	file := literal(outside)
	made := filepath.Join(dir, "made.json")
	refused := []string{
		"FROM read_csv(F)", "FROM read_csv_auto(F)", "FROM sniff_csv(F)", "FROM read_text(F)", "FROM read_blob(F)", "FROM read_json(F)", "FROM read_json_auto(F)",
		"FROM read_ndjson(F)", "FROM read_ndjson_objects(F)", "FROM read_json_objects(F)", "FROM read_parquet(F)", "FROM parquet_scan(F)", "FROM parquet_metadata(F)",
		"FROM parquet_schema(F)", "FROM parquet_file_metadata(F)", "FROM parquet_kv_metadata(F)", "FROM parquet_full_metadata(F)", "FROM parquet_bloom_probe(F, 'a', 1)",
		"FROM read_duckdb(F)", "FROM glob(F)", "FROM glob('*')", "FROM F", "FROM 'file:" + outside + "'", "FROM 'https://127.0.0.1:1/a.parquet'", "FROM read_parquet('s3://a/b.parquet')",
		"FROM read_text('/proc/self/environ')", "FROM query('FROM read_text(''" + outside + "'')')", "FROM query_table(F)",
		"FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''" + outside + "'')'))", "PRAGMA json_execute_serialized_sql('x')", "PRAGMA import_database('.')",
		"FROM duckdb_secrets()", "FROM which_secret('s3://x', 's3')", "FROM duckdb_extensions()", "FROM sqlite_scan(F, 'x')", "FROM postgres_scan('', '', '')", "FROM iceberg_scan(F)",
		"SELECT getenv('HOME')", "SELECT getvariable('x') FROM nowhere", "SELECT set_config('threads', '1')", "SELECT nextval('x')", "SELECT st_read(F)",
		"COPY results TO F", "COPY (SELECT 1) TO F", "COPY results FROM F", "EXPORT DATABASE F", "IMPORT DATABASE F", "ATTACH F", "ATTACH ':memory:' AS m", "DETACH assay", "USE memory",
		"INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL json", "UPDATE EXTENSIONS", "SET threads = 1", "SET enable_external_access = true", "RESET threads", "SET VARIABLE x = 1",
		"PRAGMA threads = 1", "PRAGMA enable_profiling", "PRAGMA profiling_output = F", "PRAGMA add_parquet_key('a', 'b')", "CALL enable_logging()", "CALL force_checkpoint()",
		"CREATE SECRET (TYPE s3)", "CREATE PERSISTENT SECRET (TYPE s3)", "DROP SECRET x", "CREATE TEMP TABLE x AS SELECT 1", "CREATE MACRO f() AS 1", "CREATE TYPE x AS INTEGER",
		"BEGIN", "COMMIT", "CHECKPOINT", "VACUUM", "ANALYZE", "PREPARE x AS SELECT 1", "EXECUTE x", "DEALLOCATE x", "COMMENT ON TABLE results IS 'x'",
		"SELECT 1; COPY results TO F", "SELECT 1) TO F; --", "SELECT 1); DROP TABLE results; SELECT (1", "SELECT * FROM (DELETE FROM results RETURNING *)",
		"EXPLAIN ANALYZE DELETE FROM results", "EXPLAIN ANALYZE COPY results TO F", "EXPLAIN ANALYZE FROM read_text(F)",
		"FROM enable_profiling(format = 'json', save_location = " + literal(outside) + ")", "SELECT 'x'::VARIANT", "SELECT 9223372036854775807 + 1", "SELECT error('x')", "FROM test_all_types()",
	}
	asked := func(query string) ([]byte, error) {
		return s.Answer(t.Context(), strings.NewReplacer("(F", "("+file, " F", " "+file).Replace(query), Limits{Rows: 10_000, Bytes: 1 << 24, Memory: "64MiB"})
	}
	for _, query := range refused {
		text, err := asked(query)
		statement, wrong := (*StatementError)(nil), (*SQLError)(nil)
		if !errors.As(err, &statement) && !errors.As(err, &wrong) {
			t.Errorf("%s gave %.200s, %v", query, text, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s told what is in the file: %v", query, err)
		}
	}
	for _, query := range []string{ // they change only the session, which ends with the answer
		"FROM enable_logging(level = 'debug', storage = 'file', storage_path = " + literal(made) + ")",
		"SELECT write_log('x', level := 'warning') FROM enable_logging(level = 'debug', storage = 'file', storage_path = " + literal(made) + "), range(1000)",
		"FROM enable_profiling(format = 'json', save_location = " + literal(made) + ")",
		"SELECT range FROM enable_profiling(format = 'json', save_location = " + literal(made) + "), range(1000)",
		"FROM force_checkpoint()", "FROM truncate_duckdb_logs()", "FROM disable_peg_parser()", "FROM duckdb_external_file_cache()", "FROM duckdb_temporary_files()",
	} {
		if text, err := asked(query); err != nil && !strings.Contains(err.Error(), "Error") {
			t.Errorf("%s gave %s, %v", query, text, err)
		}
	}
	for setting, want := range map[string]string{"enable_external_access": "false", "lock_configuration": "true", "autoload_known_extensions": "false", "autoinstall_known_extensions": "false", "max_temp_directory_size": `"0 bytes"`, "threads": "2", "memory_limit": `"64.0 MiB"`} {
		if text, err := asked("SELECT current_setting('" + setting + "') AS v"); err != nil || !strings.Contains(string(text), `"v":`+want) {
			t.Errorf("%s is %s, %v", setting, text, err)
		}
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 1 {
		t.Errorf("files were made: %v", files)
	}
	if got := answer(t, s, "SELECT count(*) AS n FROM results"); got != "n\n1\n" {
		t.Errorf("a question changed the table: %s", got)
	}
}
