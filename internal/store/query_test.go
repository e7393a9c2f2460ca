//go:build cgo

package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
)

func TestQuestionsOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	for _, query := range []string{
		"SELECT 1", "select 1;", "-- why\n/* not */ (SELECT 1)", "FROM results", "WITH x AS (SELECT 1) FROM x", "SHOW TABLES",
		"DESCRIBE results", "EXPLAIN SELECT 1", "SUMMARIZE results", "VALUES (1)", "PRAGMA show_tables", "TABLE results", "SELECT ';' -- ;",
	} {
		if _, err := s.Query(t.Context(), query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	outside := filepath.Join(t.TempDir(), "x.csv")
	must(t, os.WriteFile(outside, []byte("a\n1\n"), 0o644))
	for _, query := range []string{
		"", " ;; ", "-- nothing", "/* open", "DELETE FROM results", "INSERT INTO runs (id) VALUES ('x')", "DROP TABLE results", "SELECT 1; SELECT 2",
		"SELECT 1; DROP TABLE results", "CREATE TEMP TABLE x (a INTEGER)", "COPY results TO '" + outside + "'", "SET threads = 1",
		"PRAGMA threads = 1", "PRAGMA memory_limit = '1GB'", "ATTACH 'x.db'", "LOAD json", "INSTALL httpfs", "CALL pragma_version()", "BEGIN", "CHECKPOINT",
		"SELECT * FROM read_csv('" + outside + "')", "SELECT * FROM read_text('" + outside + "')", "SELECT * FROM glob('" + outside + "')",
		"EXPORT DATABASE '" + outside + "'", "VACUUM", "WITH x AS (SELECT 1) DELETE FROM results", "42", "é",
	} {
		refused := (*StatementError)(nil)
		if _, err := s.Query(t.Context(), query); !errors.As(err, &refused) {
			t.Errorf("%q gave %v", query, err)
		}
	}
	for _, query := range []string{"SELECT nothing", "SELECT * FROM '" + outside + "'", "SELECT", "EXPLAIN ANALYZE DELETE FROM results"} {
		if _, err := s.Query(t.Context(), query); err == nil {
			t.Errorf("%q gave no error", query)
		}
	}
	if got := answer(t, s, "SELECT count(*) AS n FROM results"); got != "n\n1\n" {
		t.Errorf("a question changed the table: %s", got)
	}
}

func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	got := answer(t, s, "SELECT started_at::VARCHAR AS a, started_at = '2026-11-15 04:30:00' AS b, current_setting('lock_configuration') AS c FROM results")
	if got != "a,b,c\n2026-11-15 04:30:00+00,true,true\n" {
		t.Error(got)
	}
}

func FuzzCheckWords(f *testing.F) {
	for _, q := range []string{"SELECT 1", "-- x", "/* x */ delete", "((", "\xff"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if checkWords(q) == nil && !questions[strings.ToLower(firstWord(q))] {
			t.Errorf("%q was let through", q)
		}
	})
}

func TestCancelledQuery(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := s.Query(ctx, "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * 3 = b.range + 1")
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
	if got := answer(t, s, "SELECT 1 AS n"); got != "n\n1\n" {
		t.Errorf("after a cancelled query: %s", got)
	}
}

const everything = `SELECT NULL AS nothing, true AS yes, 1::TINYINT AS small, 170141183460469231731687303715884105727::HUGEINT AS huge,
	1.50::DECIMAL(10,2) AS price, -0.05::DECIMAL(4,2) AS less, 0.1::DOUBLE AS tenth, 1.5::FLOAT AS float, 'nan'::DOUBLE AS nan,
	'a <b> & "c"' AS words, DATE '2026-11-15' AS day, TIME '04:30:00.5' AS clock, TIMESTAMP '2026-11-15 04:30:00.25' AS moment,
	TIMESTAMPTZ '2026-11-15 06:30:00+02' AS instant, [DATE '2026-11-15', NULL] AS days, MAP {'b': 1.5, 'a': NULL} AS m,
	{'x y': [1, 2], 'd': DATE '2026-11-15'} AS s, '{"k":[1,{"z":null}]}'::JSON AS j, 'ab'::BLOB AS bytes,
	'0b6f3a52-6c7b-4f0e-9d0a-2f6a3f5f8e11'::UUID AS id, INTERVAL '1 month 2 days 3.5 seconds' AS span, 1 AS yes`

func TestValues(t *testing.T) {
	t.Parallel()
	rows, err := newStore(t).Query(t.Context(), everything)
	must(t, err)
	var b bytes.Buffer
	must(t, rows.WriteJSON(&b))
	want := `{"schema":1,"rows":[
{"nothing":null,"yes":true,"small":1,"huge":170141183460469231731687303715884105727,"price":1.50,"less":-0.05,"tenth":0.1,"float":1.5,"nan":null,` +
		`"words":"a <b> & \"c\"","day":"2026-11-15","clock":"04:30:00.5","moment":"2026-11-15T04:30:00.25Z","instant":"2026-11-15T04:30:00Z",` +
		`"days":["2026-11-15",null],"m":{"b":1.5,"a":null},"s":{"d":"2026-11-15","x y":[1,2]},"j":{"k":[1,{"z":null}]},"bytes":"YWI=",` +
		`"id":"0b6f3a52-6c7b-4f0e-9d0a-2f6a3f5f8e11","span":"P1M2DT3.5S","yes_2":1}
]}
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	b.Reset()
	must(t, rows.WriteCSV(&b))
	want = `nothing,yes,small,huge,price,less,tenth,float,nan,words,day,clock,moment,instant,days,m,s,j,bytes,id,span,yes_2
,true,1,170141183460469231731687303715884105727,1.50,-0.05,0.1,1.5,NaN,"a <b> & ""c""",2026-11-15,04:30:00.5,2026-11-15T04:30:00.25Z,2026-11-15T04:30:00Z,` +
		`"[""2026-11-15"",null]","{""b"":1.5,""a"":null}","{""d"":""2026-11-15"",""x y"":[1,2]}","{""k"":[1,{""z"":null}]}",YWI=,0b6f3a52-6c7b-4f0e-9d0a-2f6a3f5f8e11,P1M2DT3.5S,1
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for query, want := range map[string]string{
		"SELECT * FROM (VALUES ('bert', 1.5, 10), ('größer', NULL, 2), (E'two\nlines', 0.25, 300)) t(model, ms, batch)": `model        ms  batch
─────────  ────  ─────
bert       1.50     10
größer        -      2
two lines  0.25    300
`,
		"SELECT repeat('x', 100) AS long": "long\n" + strings.Repeat("─", 80) + "\n" + strings.Repeat("x", 79) + "…\n",
		"SELECT 1 AS a WHERE false":       "a\n─\n",
	} {
		rows, err := s.Query(t.Context(), query)
		must(t, err)
		var b bytes.Buffer
		must(t, rows.WriteText(&b))
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Error(d)
		}
	}
	rows, err := s.Query(t.Context(), "FROM results")
	must(t, err)
	var b bytes.Buffer
	must(t, rows.WriteJSON(&b))
	if b.String() != "{\"schema\":1,\"rows\":[]}\n" {
		t.Errorf("no rows are %s", b.String())
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := result(0)
	r.Latency.DeviceSamples = [][]float64{{1, 2, 3}, {4, 5}}
	write(t, s, "a", r, unavailable())
	write(t, s, "b", result(7), failed(cell.Crash))
	for name, c := range map[string]struct {
		filter Filter
		want   []string
	}{
		"all":      {Filter{}, []string{"b.2", "a.2", "b.1", "a.1"}},
		"limit":    {Filter{Limit: 2}, []string{"b.2", "a.2"}},
		"type":     {Filter{Types: []string{"bert", "vit"}}, []string{"a.2", "b.1", "a.1"}},
		"verdict":  {Filter{Verdicts: []cell.Verdict{cell.Fails, cell.Unavailable}}, []string{"b.2", "a.2"}},
		"platform": {Filter{Platforms: []string{"cuda"}}, []string{"a.2"}},
		"run":      {Filter{Runs: []string{"a"}, Types: []string{"bert"}}, []string{"a.1"}},
		"since":    {Filter{Since: start.Add(2 * time.Hour)}, []string{"b.2"}},
		"host":     {Filter{Hosts: []string{"elsewhere"}}, nil},
		"versions": {Filter{Versions: map[string]string{"torch": "2.15.0", "transformers": "5.22.2"}}, []string{"b.1", "a.1"}},
		"another":  {Filter{Versions: map[string]string{"torch": "2.14.0"}}, nil},
		"cell":     {Filter{Cells: []string{result(7).Cell.Hash}}, []string{"b.1"}},
	} {
		got, err := s.Results(t.Context(), c.filter)
		must(t, err)
		var ids []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		if d := cmp.Diff(c.want, ids); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	got, err := s.Results(t.Context(), Filter{IDs: []string{"a.1"}, Samples: true})
	must(t, err)
	if d := cmp.Diff([]Stored{{ID: "a.1", RunID: "a", HostID: "h-1", Result: r}}, got); d != "" {
		t.Error(d)
	}
	got, err = s.Results(t.Context(), Filter{IDs: []string{"a.1"}})
	must(t, err)
	if l := got[0].Result.Latency; l.SamplesMS != nil || l.MedianMS != 1.5 {
		t.Errorf("without samples the latency is %+v", l)
	}
}

// TestAskedHash: SQL and Go agree on which cell a result answers.
func TestAskedHash(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	adapted := result(3) // ran with less than was asked for
	adapted.Asked = result(7).Cell.Hash
	moved := fellBack() // ran elsewhere
	moved.Asked = unavailable().Cell.Hash
	all := []cell.Result{result(0), adapted, moved}
	write(t, s, "a", all...)
	for _, r := range all {
		got, err := s.Results(t.Context(), Filter{Cells: []string{r.AskedHash()}})
		must(t, err)
		if len(got) != 1 || got[0].Result.Cell != r.Cell {
			t.Errorf("%s %d answers %s, which finds %d results", r.Cell.Type, r.Cell.Batch, r.AskedHash(), len(got))
		}
	}
}

// TestSQLError: what is wrong with a question is told from a database that
// cannot answer it, without knowing its driver.
func TestSQLError(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	for _, query := range []string{"SELECT FROM WHERE", "SELECT nothing FROM results", "FROM nowhere", "SELECT 'x'::INTEGER"} {
		_, err := s.Query(t.Context(), query)
		if wrong := (*SQLError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", query, err)
		}
		err = s.Export(t.Context(), query, Parquet, filepath.Join(t.TempDir(), "out.parquet"))
		if wrong := (*SQLError)(nil); !errors.As(err, &wrong) {
			t.Errorf("export of %s: %v", query, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Query(ctx, "FROM results")
	if wrong := (*SQLError)(nil); err == nil || errors.As(err, &wrong) {
		t.Errorf("a stopped question is a wrong one: %v", err)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0), unavailable())
	dir := filepath.Join(t.TempDir(), "it's")
	must(t, os.Mkdir(dir, 0o755))
	for what, want := range map[string]string{
		"results":          "[[2]]",
		"hardware_results": "[[2]]",
		"SELECT 1 AS a WHERE 'x' <> 'y'; -- it's a comment": "[[1]]",
	} {
		path := filepath.Join(dir, "out.parquet")
		must(t, s.Export(t.Context(), what, Parquet, path))
		ses, err := s.open(t.Context(), ":memory:", writing())
		must(t, err)
		rows, err := ses.query(t.Context(), "SELECT count(*) FROM read_parquet(?)", path)
		must(t, err)
		must(t, ses.Close())
		if got := strings.TrimSpace(string(jsonRows(rows))); got != want {
			t.Errorf("%s: %s rows in the file, want %s", what, got, want)
		}
	}
	path := filepath.Join(dir, "out.csv")
	must(t, s.Export(t.Context(), "SELECT id, started_at FROM results ORDER BY id", CSV, path))
	if d := cmp.Diff("id,started_at\na.1,2026-11-15T04:30:00Z\na.2,2026-11-15T05:30:00Z\n", readFile(t, path)); d != "" {
		t.Error(d)
	}
	checkRefusedExports(t, s, dir)
}

func jsonRows(r *Rows) []byte {
	var b bytes.Buffer
	b.WriteString("[")
	for _, v := range r.Values {
		b.WriteString("[" + plainText(v[0], r.types[0]) + "]")
	}
	b.WriteString("]")
	return b.Bytes()
}

func checkRefusedExports(t *testing.T, s *Store, dir string) {
	t.Helper()
	for _, c := range []struct {
		what   string
		format Format
	}{
		{"nowhere", Parquet}, {"results", "xlsx"}, {"DROP TABLE results", CSV}, {"DROP TABLE results", Parquet},
		{"SELECT * FROM read_text('" + s.Path() + "')", Parquet},
	} {
		path := filepath.Join(dir, "refused")
		if err := s.Export(t.Context(), c.what, c.format, path); err == nil || exists(path) {
			t.Errorf("%v gave %v", c, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestParseType(t *testing.T) {
	t.Parallel()
	got := parseType(`STRUCT("a ""b, c" INTEGER, d MAP(VARCHAR, DATE[]), e DECIMAL(10,2)[3])`)
	date, varchar, dec := coltype{name: "DATE"}, coltype{name: "VARCHAR"}, coltype{name: "DECIMAL"}
	dates := coltype{name: "LIST", elem: &date}
	want := coltype{name: "STRUCT", fields: map[string]coltype{
		`a "b, c`: {name: "INTEGER"}, "d": {name: "MAP", key: &varchar, elem: &dates}, "e": {name: "LIST", elem: &dec}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(coltype{})); d != "" {
		t.Error(d)
	}
}

func FuzzParseType(f *testing.F) {
	f.Add(`STRUCT("a" INTEGER, b MAP(VARCHAR, DATE[]))`)
	f.Add(`(]["`)
	f.Fuzz(func(t *testing.T, s string) { parseType(s) })
}

// A question may name its columns as it likes, and a folder may have any name:
// neither reaches the terminal as a command to it.
func TestTextSteersNoTerminal(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rows, err := s.Query(t.Context(), "select 'a\x1b[2J\u009bb\u202e' as \"c\x1b]0;d\x07\"")
	must(t, err)
	for name, write := range map[string]func(io.Writer) error{"text": rows.WriteText, "csv": rows.WriteCSV, "json": rows.WriteJSON} {
		var b bytes.Buffer
		must(t, write(&b))
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || r == '\u202e') }); i >= 0 {
			t.Errorf("%s holds control characters: %q", name, b.String())
		}
	}
}

// A file that is somebody else's is told apart before anything is made beside it.
func TestForeignFilesStayAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, "cats.duckdb")
	ses, err := openOnce(t.Context(), foreign, writing())
	must(t, err)
	must(t, errors.Join(ses.exec(t.Context(), "CREATE TABLE cats (name VARCHAR)"), ses.Close()))
	words := filepath.Join(dir, "passwd")
	must(t, os.WriteFile(words, []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644))
	for _, path := range []string{foreign, words, dir} {
		s, err := Open(path, filepath.Join(dir, "journals"))
		must(t, err)
		_, err = s.Query(t.Context(), "SELECT 1")
		if err == nil || !strings.Contains(err.Error(), "cannot be used") {
			t.Errorf("%s: %v, want that it cannot be used", path, err)
		}
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 2 {
		t.Errorf("there are %v now", left)
	}
}

// Where nothing may be written the journals still answer, and SQL still reads no
// other file.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("folders cannot be closed to this user")
	}
	s := newStore(t)
	write(t, s, "run-1", result(0))
	for range 2 { // without a database, and with one that is older than the journals
		shut(t, s)
		rows, err := s.Query(t.Context(), "SELECT id FROM hardware_results")
		must(t, err)
		if rows.Len() != 1 || len(rows.Notes) == 0 {
			t.Errorf("%d rows, notes %v", rows.Len(), rows.Notes)
		}
		if _, err := s.Query(t.Context(), "SELECT * FROM read_text('/etc/passwd')"); err == nil {
			t.Error("another file can be read")
		}
		must(t, os.Chmod(filepath.Dir(s.Path()), 0o700))
		_, err = s.Sync(t.Context())
		must(t, err)
		must(t, os.Remove(s.lockPath()))
	}
}

func shut(t *testing.T, s *Store) {
	dir := filepath.Dir(s.Path())
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o700)) })
}
