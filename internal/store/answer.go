//go:build cgo

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"assay/internal/cell"
)

// within are settings for a question that anybody may have thought of: no more memory than
// this, nothing spilled to the disk, and two of the processors.
func (l Limits) within(set settings) settings {
	set.sets = append([]string{"SET memory_limit = " + literal(l.Memory), "SET max_temp_directory_size = '0 bytes'", "SET threads = 2"}, set.sets...)
	return set
}

// Answer answers one question in SQL as {"schema":1,"rows":[…]}, and gives up at the
// first limit that the answer passes, with a *LimitError. The other errors are those of Query.
//
// Sessions of one process share a database's settings: this is for a process of its own.
// What a single value takes is not DuckDB's to limit, so such a process wants a limit too.
func (s *Store) Answer(ctx context.Context, query string, l Limits) (text []byte, err error) {
	if err := checkWords(query); err != nil {
		return nil, err
	}
	ses, _, err := s.readWith(ctx, l.within)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	names, err := ses.check(query)
	if err != nil {
		return nil, ofQuestion(err)
	}
	text, err = ses.answer(ctx, query, names, l)
	return text, ofQuestion(asAsked(err))
}

// asAsked takes from an error the line of a statement that it points into: it is not the one that was asked.
func asAsked(err error) error {
	e := (*duckdb.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Msg, _, _ = strings.Cut(e.Msg, "\n\nLINE ")
	return &told
}

// answer writes rows as they come.
func (s *session) answer(ctx context.Context, query string, names []string, l Limits) ([]byte, error) {
	if !apart[strings.ToLower(firstWord(query))] {
		// The driver has the whole answer made before it gives the first row.
		query = fmt.Sprintf("SELECT * FROM query(%s) LIMIT %d", literal(query), l.Rows+1)
	}
	r, head, err := s.start(ctx, query, names)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"schema":%d,"rows":[`, cell.Schema)
	n := 0
	for ; r.Next(); n++ {
		if n == l.Rows {
			return nil, &LimitError{fmt.Sprintf("the answer has more than %d rows", l.Rows)}
		}
		values, err := head.next(r)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(head.line(values))
		if out.Len() > l.Bytes {
			return nil, &LimitError{fmt.Sprintf("the answer takes more than %d MiB", l.Bytes>>20)}
		}
	}
	if n > 0 {
		out.WriteByte('\n')
	}
	out.WriteString("]}\n")
	return out.Bytes(), explain(s.path, r.Err())
}

// apart are the words with which questions begin that cannot be part of another one. Their
// answers are as long as a plan or a table is wide.
var apart = map[string]bool{"explain": true, "pragma": true, "describe": true, "show": true, "summarize": true}

// columns are the names that a statement gives its answer.
func columns(stmt *duckdb.Stmt) []string {
	n, err := stmt.ColumnCount()
	if err != nil {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		if out[i], err = stmt.ColumnName(i); err != nil {
			return nil
		}
	}
	return slices.Clip(out)
}
