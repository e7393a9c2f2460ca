//go:build cgo

package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"assay/internal/journal"
)

// loader brings journals into the tables, within one transaction.
type loader struct {
	ses     *session
	dir     string
	done    Synced
	pending pending
}

// load brings one journal up to date.
func (l *loader) load(ctx context.Context, c change) error {
	l.done.Journals++
	if c.now < 0 {
		return l.forget(ctx, c.entry)
	}
	path := filepath.Join(l.dir, c.file)
	r, err := journal.Open(path)
	if err != nil && c.runID == "" {
		r, err = journal.Salvage(path, err)
	}
	if err != nil {
		return l.unreadable(ctx, c, err)
	}
	defer r.Close()
	if want := journal.Path("", r.Header().Run.ID); want != c.file {
		return l.unreadable(ctx, c, fmt.Errorf("the file is not named after its run, %s: import it with assay import", want))
	}
	if !grown(path, c) {
		lost, err := l.replace(ctx, c, path)
		if err != nil {
			return err
		}
		c.entry, c.lost = entry{file: c.file}, lost
	}
	return l.read(ctx, c, r, path)
}

// grown reports whether the journal still begins with what was loaded.
func grown(path string, c change) bool {
	if c.runID == "" || c.now < c.bytes {
		return false
	}
	sum, err := tail(path, c.bytes)
	return err == nil && sum == c.tail
}

// unreadable notes a file that is not a journal, so that it is not tried again
// until it changes. What it held while it was one stays: it is the file that is
// damaged. One that is only empty so far is not a problem.
func (l *loader) unreadable(ctx context.Context, c change, why error) error {
	if c.runID != "" {
		return l.keep(ctx, c, why)
	}
	if err := l.forget(ctx, c.entry); err != nil {
		return err
	}
	if !errors.Is(why, journal.ErrEmpty) {
		l.problem(about(filepath.Join(l.dir, c.file), why))
	}
	return l.ses.exec(ctx, "INSERT INTO journals VALUES (?, NULL, ?, 0, 0, '')", c.file, c.now)
}

// read loads the lines that are new, and notes how far it came.
func (l *loader) read(ctx context.Context, c change, r *journal.Reader, path string) error {
	seen := map[string]bool{}
	if c.runID == "" {
		if err := l.ses.insertRun(ctx, r.Header()); err != nil {
			return err
		}
	} else {
		if err := r.Resume(c.bytes, c.lines); err != nil {
			return err
		}
		if err := l.ses.lineIDs(ctx, c.runID, seen); err != nil {
			return err
		}
	}
	claims, err := l.lines(ctx, r, path, seen)
	if err != nil {
		return err
	}
	if err := l.refuse(ctx, c, path, claims, seen); err != nil {
		return err
	}
	return l.note(ctx, c, r, path)
}

func (l *loader) lines(ctx context.Context, r *journal.Reader, path string, seen map[string]bool) (*journal.Claims, error) {
	claims := journal.NewClaims(r.Header().Host.ID)
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if seen[line.ID] {
			l.problem(journal.Problem{Path: path, Line: line.Number, Err: fmt.Errorf("the id %s occurs twice", line.ID)})
			continue
		}
		seen[line.ID] = true
		claims.Add(line)
		if err := l.line(ctx, r.Header(), line, path); err != nil {
			return nil, err
		}
	}
	problems := r.Problems()
	if r.Torn() {
		problems = problems[:len(problems)-1]
	}
	for _, p := range problems {
		l.problem(p)
	}
	return claims, nil
}

// refuse takes out again what contradicts the run's own detection, which is often
// its last line: the lines that were loaded before count too.
func (l *loader) refuse(ctx context.Context, c change, path string, claims *journal.Claims, loaded map[string]bool) error {
	refused := claims.Refused()
	if c.runID != "" {
		detected, err := l.ses.detected(ctx, c.runID)
		if err == nil && (detected || claims.Detected()) {
			refused, err = journal.Contradictions(ctx, path)
		}
		if err != nil {
			return err
		}
	}
	var ids []string
	for _, x := range refused {
		if loaded[x.ID] { // else it was refused before
			ids = append(ids, x.ID)
			l.problem(journal.Problem{Path: path, Line: x.Number, Err: x.Err})
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	return l.forgetResults(ctx, ids)
}

func (l *loader) forgetResults(ctx context.Context, ids []string) error {
	for _, query := range []string{
		"DELETE FROM timings WHERE list_contains(?::VARCHAR[], result_id)",
		"DELETE FROM outputs WHERE list_contains(?::VARCHAR[], result_id)",
		"DELETE FROM results WHERE list_contains(?::VARCHAR[], id)",
	} {
		if err := l.ses.exec(ctx, query, ids); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) line(ctx context.Context, h journal.Header, line journal.Line, path string) error {
	switch line.Kind {
	case journal.KindResult:
		l.done.Results++
		l.pending.addResult(h, line)
	case journal.KindDetection:
		l.done.Detections++
		if err := l.pending.addDetection(h, line); err != nil {
			l.problem(journal.Problem{Path: path, Line: line.Number, Err: err})
		}
	case journal.KindEnd:
		return l.ses.exec(ctx, "UPDATE runs SET ended = true WHERE id = ?", h.Run.ID)
	}
	if l.pending.bytes > flushBytes {
		return l.flush()
	}
	return nil
}

func (l *loader) note(ctx context.Context, c change, r *journal.Reader, path string) error {
	sum, err := tail(path, r.Offset())
	if err != nil {
		return err
	}
	if c.lost { // when it is fixed, all of it is loaded again
		sum = ""
	}
	if err := l.ses.exec(ctx, "DELETE FROM journals WHERE file = ?", c.file); err != nil {
		return err
	}
	return l.ses.exec(ctx, "INSERT INTO journals VALUES (?, ?, ?, ?, ?, ?)",
		c.file, r.Header().Run.ID, max(c.now, r.Offset()), r.Offset(), r.Number(), sum)
}

func (l *loader) problem(p journal.Problem) {
	l.done.Problems = append(l.done.Problems, p)
	line := any(p.Line)
	if p.Line == 0 {
		line = nil
	}
	l.pending.add("problems", row{{"file", filepath.Base(p.Path)}, {"line", line}, {"detail", p.Err.Error()}})
}

// about is a problem with a whole file, whose path the error need not repeat.
func about(path string, err error) journal.Problem {
	return journal.Problem{Path: path, Err: errors.New(strings.ReplaceAll(err.Error(), path, "it"))}
}

// keep leaves the rows of a journal that can no longer be read, and says so.
func (l *loader) keep(ctx context.Context, c change, why error) error {
	err := errors.Join(
		l.ses.exec(ctx, "DELETE FROM problems WHERE file = ?", c.file),
		l.ses.exec(ctx, "UPDATE journals SET size = ?, tail = '' WHERE file = ?", c.now, c.file))
	p := about(filepath.Join(l.dir, c.file), why)
	p.Err = fmt.Errorf("the journal is damaged, and what was loaded from it before is kept: %w", p.Err)
	l.problem(p)
	return err
}

// replace makes room for a journal that is not the one which was loaded. Where
// that is because it is damaged, only what it still holds is loaded again, and the
// rows of its lost lines stay.
func (l *loader) replace(ctx context.Context, c change, path string) (lost bool, err error) {
	e := c.entry
	if e.runID == "" {
		return false, l.forget(ctx, e)
	}
	ids, damaged, err := journal.Lines(path)
	if err != nil {
		return false, err
	}
	if err := l.flush(); err != nil {
		return false, err
	}
	lacks, err := l.lacks(ctx, e.runID, ids)
	if err != nil {
		return false, err
	}
	shorter := c.now < e.bytes && e.tail != "" // one that was damaged already may be fixed
	if !damaged && !lacks && !shorter {
		return false, l.forget(ctx, e)
	}
	if err := l.forgetResults(ctx, ids); err != nil {
		return false, err
	}
	if err := l.ses.exec(ctx, "DELETE FROM detections WHERE list_contains(?::VARCHAR[], regexp_extract(id, '^[^.]*[.][^.]*'))", ids); err != nil {
		return false, err
	}
	for _, d := range []struct{ query, arg string }{
		{"DELETE FROM runs WHERE id = ?", e.runID},
		{"DELETE FROM problems WHERE file = ?", e.file},
		{"DELETE FROM journals WHERE file = ?", e.file},
	} {
		if err := l.ses.exec(ctx, d.query, d.arg); err != nil {
			return false, err
		}
	}
	l.problem(journal.Problem{Path: path, Err: errors.New("the journal is damaged: the rows of its lost lines are kept")})
	return true, nil
}

// lacks reports whether lines that were loaded are not among these. Journals only
// ever grow, so one that does was cut, if at the end of a line.
func (l *loader) lacks(ctx context.Context, runID string, ids []string) (bool, error) {
	loaded := map[string]bool{}
	if err := l.ses.lineIDs(ctx, runID, loaded); err != nil {
		return false, err
	}
	for _, id := range ids {
		delete(loaded, id)
	}
	return len(loaded) > 0, nil
}

// forget removes all that came from a journal.
func (l *loader) forget(ctx context.Context, e entry) error {
	if err := l.flush(); err != nil {
		return err
	}
	for _, d := range []struct{ query, arg string }{
		{"DELETE FROM timings WHERE starts_with(result_id, ? || '.')", e.runID},
		{"DELETE FROM outputs WHERE starts_with(result_id, ? || '.')", e.runID},
		{"DELETE FROM results WHERE run_id = ?", e.runID},
		{"DELETE FROM detections WHERE run_id = ?", e.runID},
		{"DELETE FROM runs WHERE id = ?", e.runID},
		{"DELETE FROM problems WHERE file = ?", e.file},
		{"DELETE FROM journals WHERE file = ?", e.file},
	} {
		if err := l.ses.exec(ctx, d.query, d.arg); err != nil {
			return err
		}
	}
	return nil
}

// flush appends the rows that wait.
func (l *loader) flush() error {
	for _, t := range l.pending.tables {
		if err := l.ses.append(t); err != nil {
			return err
		}
	}
	l.pending = pending{}
	return nil
}

// append adds rows in DuckDB's own bulk way, within the open transaction.
func (s *session) append(t *table) error {
	return s.conn.Raw(func(c any) error {
		a, err := duckdb.NewAppenderWithColumns(c.(driver.Conn), "", "", t.name, t.columns)
		if err != nil {
			return explain(s.path, err)
		}
		for _, r := range t.rows {
			if err := a.AppendRow(r...); err != nil {
				return errors.Join(fmt.Errorf("load into %s: %w", t.name, explain(s.path, err)), a.Close())
			}
		}
		return explain(s.path, a.Close())
	})
}
