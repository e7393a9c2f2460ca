//go:build cgo

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"assay/internal/cell"
)

// comparableFields are what a comparison reads of a result's body, and where each goes.
// Most of a body's bytes are logs, outputs and counters, which it does not read;
// DuckDB parses a document once for all of these.
var comparableFields = []struct {
	path string
	into func(*cell.Result) any
}{
	{"cell", func(r *cell.Result) any { return &r.Cell }},
	{"content", func(r *cell.Result) any { return &r.Content }},
	{"subject_hash", func(r *cell.Result) any { return &r.SubjectHash }},
	{"verdict", func(r *cell.Result) any { return &r.Verdict }},
	{"evidence", func(r *cell.Result) any { return &r.Evidence }},
	{"note", func(r *cell.Result) any { return &r.Note }},
	{"timing", func(r *cell.Result) any { return &r.Timing }},
	{"side", func(r *cell.Result) any { return &r.Side }},
	{"actual", func(r *cell.Result) any { return &r.Actual }},
	{"failure.class", func(r *cell.Result) any { return &made(&r.Failure).Class }},
	{"failure.detail", func(r *cell.Result) any { return &made(&r.Failure).Detail }},
	{"failure.hint", func(r *cell.Result) any { return &made(&r.Failure).Hint }},
	{"loaded.digest", func(r *cell.Result) any { return &made(&r.Loaded).Digest }},
	{"numerics.max_rel", func(r *cell.Result) any { return &made(&r.Numerics).MaxRel }},
	{"numerics.tolerance", func(r *cell.Result) any { return &made(&r.Numerics).Tolerance }},
	{"numerics.reference", func(r *cell.Result) any { return &made(&r.Numerics).Reference }},
	{"numerics.pass", func(r *cell.Result) any { return &made(&r.Numerics).Pass }},
	{"placement.device", func(r *cell.Result) any { return &made(&r.Placement).Device }},
	{"placement.left_over", func(r *cell.Result) any { return &made(&r.Placement).LeftOver }},
	{"phases_ms", func(r *cell.Result) any { return &r.PhasesMS }},
	{"latency", func(r *cell.Result) any { return &r.Latency }},
	{"memory", func(r *cell.Result) any { return &r.Memory }},
	{"energy_j", func(r *cell.Result) any { return &r.EnergyJ }},
	{"kernels", func(r *cell.Result) any { return &r.Kernels }},
	{"context", func(r *cell.Result) any { return &r.Context }},
	{"started_at", func(r *cell.Result) any { return &r.StartedAt }},
}

// made is what a pointer points to, made where it is nil.
func made[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

func comparablePaths() string {
	var out []string
	for _, c := range comparableFields {
		out = append(out, "'$."+c.path+"'")
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Comparable returns of the chosen results, after a sync and in no order, what a
// comparison of two sides needs: of each repeat no samples but their median.
func (s *Store) Comparable(ctx context.Context, f Filter) (out []Stored, err error) {
	ses, notes, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	s.tell(notes)
	where, args := f.where()
	query := "WITH r AS (SELECT * FROM results WHERE " + where + ") SELECT id, run_id, host_id, coalesce(imported, false), to_json(json_extract(result, " + comparablePaths() + `))::VARCHAR, m.medians
		FROM r LEFT JOIN (
			SELECT result_id, to_json(list([list_median(ms)] ORDER BY repeat))::VARCHAR AS medians
			FROM timings WHERE len(ms) > 0 AND result_id IN (SELECT id FROM r) GROUP BY result_id
		) m ON m.result_id = r.id`
	var bodies, medians []string
	err = ses.rows(ctx, func(scan func(...any) error) error {
		var x Stored
		var body string
		var of *string
		if err := scan(&x.ID, &x.RunID, &x.HostID, &x.Imported, &body, &of); err != nil {
			return err
		}
		out, bodies = append(out, x), append(bodies, body)
		if of == nil {
			of = new(string)
		}
		medians = append(medians, *of)
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, decodeAll(out, bodies, medians)
}

// decodeAll fills in the results, on all cores: there may be thousands.
func decodeAll(out []Stored, bodies, medians []string) error {
	workers := runtime.GOMAXPROCS(0)
	failed := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(out) && failed[w] == nil; i += workers {
				if err := out[i].decode(bodies[i], medians[i]); err != nil {
					failed[w] = fmt.Errorf("result %s: %w", out[i].ID, err)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// decode makes a result of the values at the paths.
func (s *Stored) decode(values, medians string) error {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(values), &list); err != nil {
		return err
	}
	for i, value := range list {
		if string(value) == "null" {
			continue
		}
		if err := json.Unmarshal(value, comparableFields[i].into(&s.Result)); err != nil {
			return err
		}
	}
	if s.Result.Latency == nil || medians == "" {
		return nil
	}
	return json.Unmarshal([]byte(medians), &s.Result.Latency.SamplesMS)
}
