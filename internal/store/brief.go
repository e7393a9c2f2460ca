//go:build cgo

package store

import (
	"context"
	"errors"

	"assay/internal/cell"
)

// briefColumns are what Brief reads. The body is parsed once for all of its
// fields: most of its bytes are logs, and DuckDB parses a document again for every
// field that is asked of it alone.
const briefColumns = `cell_hash, coalesce(fallback_from, ''), verdict, evidence, coalesce(timing, ''), coalesce(failure_class, ''),
	coalesce(told[1], ''), coalesce(told[2], ''), coalesce(told[3], ''), coalesce(told[4], '')`

// toldFields are the fields of the body that have no column.
const toldFields = `json_extract_string(result, ['$.asked', '$.content', '$.context.browser.name', '$.context.browser.version'])`

// Brief returns of the chosen results, after a sync and in no order, only what
// says which cell was run (its hash), of which files and in which browser,
// and what it came to: for a question over all results of a host.
func (s *Store) Brief(ctx context.Context, f Filter) (out []cell.Result, err error) {
	ses, notes, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	s.tell(notes)
	where, args := f.where()
	query := "SELECT " + briefColumns + " FROM (SELECT *, " + toldFields + " AS told FROM results WHERE " + where + ")"
	err = ses.rows(ctx, func(scan func(...any) error) error {
		r, err := scanBrief(scan)
		out = append(out, r)
		return err
	}, query, args...)
	return out, err
}

func scanBrief(scan func(...any) error) (cell.Result, error) {
	var r cell.Result
	var from, class, browser, version string
	err := scan(&r.Cell.Hash, &from, &r.Verdict, &r.Evidence, &r.Timing, &class, &r.Asked, &r.Content, &browser, &version)
	if from != "" {
		r.Fallback = &cell.Fallback{From: from}
	}
	if class != "" {
		r.Failure = &cell.Failure{Class: cell.FailureClass(class)}
	}
	if browser != "" {
		r.Context.Browser = &cell.Browser{Name: browser, Version: version}
	}
	return r, err
}
