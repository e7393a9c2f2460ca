//go:build cgo

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// askedHash is cell.Result.AskedHash in SQL.
const askedHash = "CASE WHEN coalesce(fallback_from, '') = '' THEN coalesce(result->>'$.asked', cell_hash) ELSE cell_hash END"

// where is the filter as SQL and its values.
func (f Filter) where() (string, []any) {
	terms, args := []string{"true"}, []any{}
	for _, l := range []struct {
		column string
		values []string
	}{
		{"id", f.IDs}, {"run_id", f.Runs}, {"host_id", f.Hosts}, {"type", f.Types}, {"model", f.Models}, {"family", f.Families},
		{"platform", f.Platforms}, {"target", f.Targets}, {"side", f.Sides}, {"size", f.Sizes}, {"verdict", texts(f.Verdicts)}, {"evidence", texts(f.Evidence)},
		{"timing", texts(f.Timings)}, {askedHash, f.Cells},
	} {
		if len(l.values) > 0 {
			terms = append(terms, fmt.Sprintf("list_contains(?::VARCHAR[], %s)", l.column))
			args = append(args, l.values)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Versions)) {
		terms, args = append(terms, "versions[?] = ?"), append(args, name, f.Versions[name])
	}
	if len(f.Names) > 0 {
		terms, args = append(terms, "run_id IN (SELECT id FROM runs WHERE list_contains(?::VARCHAR[], name))"), append(args, f.Names)
	}
	if !f.Since.IsZero() {
		terms, args = append(terms, "started_at >= ?"), append(args, f.Since.UTC())
	}
	if !f.Before.IsZero() {
		terms, args = append(terms, "started_at < ?"), append(args, f.Before.UTC())
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
	query := "SELECT id, run_id, host_id, coalesce(imported, false), result::VARCHAR, " + f.samplesColumns() +
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

func (f Filter) samplesColumns() string {
	if f.Medians {
		return "(SELECT to_json(list([list_median(ms)] ORDER BY repeat))::VARCHAR FROM timings WHERE result_id = r.id AND len(ms) > 0), NULL"
	}
	if !f.Samples {
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
