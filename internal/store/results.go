package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
)

// Stored is a result and where it came from.
type Stored struct {
	ID     string
	RunID  string
	HostID string
	// Imported says that it came from elsewhere; its host's id says so too.
	Imported bool
	Result   cell.Result
}

// Filter chooses results; what is empty chooses all.
type Filter struct {
	IDs       []string
	Runs      []string
	Hosts     []string
	Types     []string
	Models    []string // checkpoint, or type where there is none
	Families  []string
	Platforms []string // as asked, see cell.Cell.Platform
	Sizes     []string
	Verdicts  []cell.Verdict
	Evidence  []cell.Evidence
	Timings   []cell.Timing
	Cells     []string // hashes of cells as they were asked for
	Since     time.Time
	Limit     int // 0 is no limit
	// Samples brings the raw samples along; without it they are nil.
	Samples bool
}

// askedHash is the hash of the cell that a result answers: the asked one, also
// where memory made it smaller; results of older versions have only their own.
const askedHash = "CASE WHEN coalesce(fallback_from, '') = '' THEN coalesce(result->>'$.asked', cell_hash) ELSE cell_hash END"

// where is the filter as SQL and its values.
func (f Filter) where() (string, []any) {
	terms, args := []string{"true"}, []any{}
	for _, l := range []struct {
		column string
		values []string
	}{
		{"id", f.IDs}, {"run_id", f.Runs}, {"host_id", f.Hosts}, {"type", f.Types}, {"model", f.Models}, {"family", f.Families},
		{"platform", f.Platforms}, {"size", f.Sizes}, {"verdict", texts(f.Verdicts)}, {"evidence", texts(f.Evidence)},
		{"timing", texts(f.Timings)}, {askedHash, f.Cells},
	} {
		if len(l.values) > 0 {
			terms = append(terms, fmt.Sprintf("list_contains(?::VARCHAR[], %s)", l.column))
			args = append(args, l.values)
		}
	}
	if !f.Since.IsZero() {
		terms, args = append(terms, "started_at >= ?"), append(args, f.Since.UTC())
	}
	return strings.Join(terms, " AND "), args
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// Results returns the chosen results, newest first, after a sync.
func (s *Store) Results(ctx context.Context, f Filter) (out []Stored, err error) {
	ses, notes, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	s.tell(notes)
	where, args := f.where()
	query := "SELECT id, run_id, host_id, coalesce(imported, false), result::VARCHAR, " + samplesColumns(f.Samples) +
		" FROM results r WHERE " + where + " ORDER BY started_at DESC NULLS LAST, id DESC"
	if f.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", f.Limit)
	}
	err = ses.rows(ctx, func(scan func(...any) error) error {
		stored, err := scanStored(scan)
		out = append(out, stored)
		return err
	}, query, args...)
	return out, err
}

func samplesColumns(wanted bool) string {
	if !wanted {
		return "NULL, NULL"
	}
	return `(SELECT to_json(list(ms ORDER BY repeat))::VARCHAR FROM timings WHERE result_id = r.id),
		(SELECT to_json(list(device_ms ORDER BY repeat) FILTER (device_ms IS NOT NULL))::VARCHAR FROM timings WHERE result_id = r.id)`
}

func scanStored(scan func(...any) error) (Stored, error) {
	var s Stored
	var body string
	var ms, deviceMS *string
	if err := scan(&s.ID, &s.RunID, &s.HostID, &s.Imported, &body, &ms, &deviceMS); err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(body), &s.Result); err != nil {
		return s, fmt.Errorf("result %s: %w", s.ID, err)
	}
	if s.Result.Latency == nil {
		return s, nil
	}
	return s, errors.Join(lists(ms, &s.Result.Latency.SamplesMS), lists(deviceMS, &s.Result.Latency.DeviceSamples))
}

func lists(text *string, into *[][]float64) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal([]byte(*text), into)
}

// thoroughness orders timings: a later one says all that an earlier one does.
var thoroughness = []cell.Timing{cell.Functional, cell.Quick, cell.Thorough}

// Done names a cell that has a result: by the hash of what was asked for, and by
// what the user's own files held then.
type Done struct{ Hash, Content string }

// Finished returns the cells that a host has a result of with these versions of
// software, and the most thorough timing of each: what a resumed run need not
// do again. A result that memory made smaller finishes what was asked for as
// well as what ran; one that ran elsewhere in an absent device's place only the
// latter. A cell under which the machine or Assay itself broke is not finished, nor one whose
// device was not there, whatever was derived of it: it may be there now.
func (s *Store) Finished(ctx context.Context, hostID string, versions map[string]string) (done map[Done]cell.Timing, err error) {
	ses, _, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	query := "SELECT cell_hash, " + askedHash + ", coalesce(result->>'$.content', ''), timing FROM results r WHERE host_id = ? AND verdict <> ? AND evidence <> ? AND coalesce(failure_class, '') NOT IN (?, ?)"
	args := []any{hostID, string(cell.Unavailable), string(cell.Derived), string(cell.Environment), string(cell.Harness)}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		query += " AND versions[?] = ?"
		args = append(args, name, versions[name])
	}
	done = map[Done]cell.Timing{}
	err = ses.rows(ctx, func(scan func(...any) error) error {
		var ran, asked, content, timing string
		err := scan(&ran, &asked, &content, &timing)
		for _, hash := range []string{ran, asked} {
			d, t := Done{hash, content}, cell.Timing(timing)
			if slices.Index(thoroughness, t) >= slices.Index(thoroughness, done[d]) {
				done[d] = t
			}
		}
		return err
	}, query, args...)
	return done, err
}
