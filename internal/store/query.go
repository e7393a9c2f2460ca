//go:build cgo

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/duckdb/duckdb-go/v2"

	"assay/internal/filelock"
)

// Indexed says whether this build has DuckDB.
const Indexed = true

// Query answers one question in SQL, after a sync. Results finished a moment
// ago, by whatever process, are in the answer. The error is a *StatementError
// when it is not a question, and a *SQLError when it is a wrong one.
func (s *Store) Query(ctx context.Context, query string, args ...any) (rows *Rows, err error) {
	err = s.ask(ctx, query, func(ses *session, notes []string) error {
		if rows, err = ses.query(ctx, query, args...); err == nil {
			rows.Notes = notes
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// ask opens the database for reading, synced, and calls f if the statement is
// a question.
func (s *Store) ask(ctx context.Context, query string, f func(ses *session, notes []string) error) (err error) {
	if err := checkWords(query); err != nil {
		return err
	}
	ses, notes, err := s.read(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	if _, err := ses.check(query); err != nil {
		return ofQuestion(err)
	}
	return ofQuestion(f(ses, notes))
}

// read opens the database for reading, synced. If it cannot be synced because
// others keep reading it, what it holds is better than nothing, and a note says
// so.
func (s *Store) read(ctx context.Context) (*session, []string, error) {
	return s.readWith(ctx, func(set settings) settings { return set })
}

// readWith reads with settings that are changed before the database is opened.
func (s *Store) readWith(ctx context.Context, change func(settings) settings) (*session, []string, error) {
	ses, err := s.readFresh(ctx, change(reading()))
	if IsReadOnly(err) {
		return s.readInMemory(ctx, change)
	}
	if ses != nil {
		return s.withNotes(ctx, ses, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	_, err = s.Sync(ctx)
	if busy := (*BusyError)(nil); errors.As(err, &busy) && exists(s.path) {
		notes = append(notes, "the newest results are not in this answer: other programs are using the database")
	} else if IsReadOnly(err) {
		return s.readInMemory(ctx, change)
	} else if err != nil {
		return nil, nil, err
	}
	if ses, err = s.openLocked(ctx, filelock.Shared, change(reading())); err != nil {
		return nil, nil, err
	}
	return s.withNotes(ctx, ses, notes)
}

// mostNotes is how many problems of one journal are told with an answer; the
// table problems has them all.
const mostNotes = 3

// withNotes adds what is wrong with the journals, as long as it is.
func (s *Store) withNotes(ctx context.Context, ses *session, notes []string) (*session, []string, error) {
	err := ses.rows(ctx, func(scan func(...any) error) error {
		var file, detail string
		var line *int64
		if err := scan(&file, &line, &detail); err != nil {
			return err
		}
		if line != nil {
			file = fmt.Sprintf("%s:%d", file, *line)
		}
		notes = append(notes, "skipped: "+filepath.Join(s.journals, file)+": "+detail)
		return nil
	}, "SELECT file, line, detail FROM problems QUALIFY row_number() OVER (PARTITION BY file ORDER BY line) <= ? ORDER BY file, line", mostNotes)
	if err != nil {
		return nil, nil, errors.Join(err, ses.Close())
	}
	return ses, notes, nil
}

// readFresh opens the database for reading if it needs no sync, and returns
// nil if it does. Most questions find nothing new, and so never lock others
// out.
func (s *Store) readFresh(ctx context.Context, set settings) (*session, error) {
	if !exists(s.path) || s.empty() || exists(s.walPath()) {
		return nil, nil
	}
	ses, err := s.openLocked(ctx, filelock.Shared, set)
	if busy := (*BusyError)(nil); errors.As(err, &busy) || err != nil && !exists(s.path) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fresh, err := s.fresh(ctx, ses)
	if fresh && err == nil {
		return ses, nil
	}
	return nil, errors.Join(err, ses.Close())
}

func (s *Store) fresh(ctx context.Context, ses *session) (bool, error) {
	all, err := migrations()
	if err != nil {
		return false, err
	}
	at, err := ses.version(ctx)
	if err != nil || at < len(all) {
		return false, err
	}
	changed, err := s.changes(ctx, ses)
	return len(changed) == 0, err
}

// questions are the words that a question may begin with.
var questions = map[string]bool{
	"select": true, "with": true, "from": true, "describe": true, "show": true, "explain": true,
	"summarize": true, "values": true, "table": true, "pragma": true,
}

// checkWords looks at the first word only, for the sake of a clear sentence;
// DuckDB's parser has the last word in check.
func checkWords(query string) error {
	if strings.ContainsRune(query, 0) {
		return &StatementError{"there is a NUL in it, where DuckDB would end the statement"}
	}
	word := firstWord(query)
	if word == "" {
		return &StatementError{"there is no statement"}
	}
	if !questions[strings.ToLower(word)] {
		return &StatementError{fmt.Sprintf("a query begins with SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN, not with %.40q", word)}
	}
	return nil
}

// firstWord passes over spaces, comments and parentheses.
func firstWord(query string) string {
	for {
		query = strings.TrimLeft(query, " \t\r\n\f\v;(")
		switch {
		case strings.HasPrefix(query, "--"):
			_, query, _ = strings.Cut(query, "\n")
		case strings.HasPrefix(query, "/*"):
			_, query, _ = strings.Cut(query, "*/")
		default:
			end := strings.IndexFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
			switch {
			case end < 0:
				return query
			case end == 0: // no word: show what stands there
				return query[:1]
			}
			return query[:end]
		}
	}
}

// check lets DuckDB's own parser say whether it is one statement, and of which
// kind. It returns the names of the answer's columns.
func (s *session) check(query string) (names []string, err error) {
	err = s.conn.Raw(func(c any) error {
		// Unlike PrepareContext, Prepare takes one statement only and runs none.
		prepared, err := c.(*duckdb.Conn).Prepare(query)
		if err != nil {
			return explainQuestion(err)
		}
		defer prepared.Close()
		stmt := prepared.(*duckdb.Stmt)
		kind, err := stmt.StatementType()
		if err != nil {
			return err
		}
		if kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
			return &StatementError{"this statement would change something"}
		}
		names = columns(stmt)
		return nil
	})
	return names, err
}

func explainQuestion(err error) error {
	var e *duckdb.Error
	if !errors.As(err, &e) {
		// The driver's own refusal of several statements has no type.
		return &StatementError{"there must be exactly one statement"}
	}
	return err
}

// start runs a question, and says what its columns are: with these names, where there is one for each, because a subquery
// tells columns of one name apart in its own way.
func (s *session) start(ctx context.Context, query string, names []string, args ...any) (*sql.Rows, *Rows, error) {
	r, err := s.conn.QueryContext(ctx, query, args...)
	s.called(ctx)
	if err != nil {
		return nil, nil, explain(s.path, err)
	}
	types, err := r.ColumnTypes()
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	head := &Rows{}
	for i, t := range types {
		name := t.Name()
		if len(names) == len(types) {
			name = names[i]
		}
		head.addColumn(name, t.DatabaseTypeName())
	}
	return r, head, nil
}

// next reads the row that rows are at.
func (r *Rows) next(rows *sql.Rows) ([]any, error) {
	values, into := make([]any, len(r.Columns)), make([]any, len(r.Columns))
	for i := range values {
		into[i] = &values[i]
	}
	return values, rows.Scan(into...)
}

// query reads all rows into memory, so that the database can be closed.
func (s *session) query(ctx context.Context, query string, args ...any) (*Rows, error) {
	r, out, err := s.start(ctx, query, nil, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for r.Next() {
		values, err := out.next(r)
		if err != nil {
			return nil, err
		}
		out.Values = append(out.Values, values)
	}
	return out, explain(s.path, r.Err())
}
