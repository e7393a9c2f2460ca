//go:build cgo

package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"assay/internal/cell"
)

// TestQuestion: what a filter finds, and which words it refuses.
func TestQuestion(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "run-1", result(0), unavailable(), fellBack(), failed(cell.OutOfMemory))
	for _, c := range []struct {
		q    Question
		rows int
	}{
		{Question{Limit: 50}, 4},
		{Question{Limit: 2}, 2},
		{Question{Model: "BERT", Limit: 50}, 1},
		{Question{Model: "vit", Limit: 50}, 2},
		{Question{Model: "vit", Platform: "cpu", Limit: 50}, 1},
		{Question{Verdict: "fails", Limit: 50}, 1},
		{Question{Model: "it's", Limit: 50}, 0},
	} {
		if err := c.q.Check(); err != nil {
			t.Fatal(err)
		}
		sql, args := c.q.SQL()
		rows, err := s.Query(t.Context(), sql, args...)
		if err != nil || rows.Len() != c.rows {
			t.Errorf("%+v: %v, %v, want %d rows", c.q, rows, err, c.rows)
		}
		if c.q.Filters() != (c.q.Model+c.q.Platform+c.q.Verdict != "") {
			t.Errorf("%+v filters: %v", c.q, c.q.Filters())
		}
	}
	for q, says := range map[Question]string{{Platform: "abacus"}: "unknown platform", {Verdict: "perhaps"}: "unknown verdict"} {
		if err := q.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestFormats: how rows are printed, and what a file's name means.
func TestFormats(t *testing.T) {
	t.Parallel()
	rows := &Rows{Columns: []string{"n"}, Values: [][]any{{int64(7)}}, types: []coltype{parseType("BIGINT")}}
	for format, want := range map[string]string{"": "7", "text": "7", "json": `{"n":7}`, "csv": "n\n7\n"} {
		var b bytes.Buffer
		if err := rows.Write(&b, format); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%q: %q, %v", format, b.String(), err)
		}
	}
	var unknown *FormatError
	if err := rows.Write(&bytes.Buffer{}, "parquet"); !errors.As(err, &unknown) {
		t.Errorf("rows are printed as parquet: %v", err)
	}
	for name, want := range map[[2]string]Format{{"", "a.csv"}: CSV, {"", "a.parquet"}: Parquet, {"csv", "a.txt"}: CSV, {"", "a.txt"}: "", {"json", "a.csv"}: "", {"", "a"}: ""} {
		got, err := FileFormat(name[0], name[1])
		if (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%v: %s, %v", name, got, err)
		}
	}
}
