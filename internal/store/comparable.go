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
)

// comparableFields are what a comparison reads of a result's body, those of one part
// beside each other. Most of a body's bytes are logs, outputs and counters, which it
// does not read; DuckDB parses a document once for all of these.
var comparableFields = []string{
	"cell", "content", "subject_hash", "verdict", "evidence", "note", "timing", "side", "actual",
	"failure.class", "failure.detail", "failure.hint", "loaded.digest",
	"numerics.max_rel", "numerics.tolerance", "numerics.reference", "numerics.pass", "placement.device", "placement.left_over",
	"phases_ms", "latency", "memory", "energy_j", "kernels", "context", "started_at",
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
	query := "WITH r AS (SELECT * FROM results WHERE " + where + ") SELECT id, run_id, host_id, coalesce(imported, false), json_extract(result, ['$." +
		strings.Join(comparableFields, "', '$.") + `'])::VARCHAR[], m.medians
		FROM r LEFT JOIN (
			SELECT result_id, list(list_median(ms) ORDER BY repeat) AS medians
			FROM timings WHERE len(ms) > 0 AND result_id IN (SELECT id FROM r) GROUP BY result_id
		) m ON m.result_id = r.id`
	var bodies, medians [][]any
	err = ses.rows(ctx, func(scan func(...any) error) error {
		var x Stored
		var body, of any
		if err := scan(&x.ID, &x.RunID, &x.HostID, &x.Imported, &body, &of); err != nil {
			return err
		}
		values, _ := body.([]any)
		times, _ := of.([]any)
		out, bodies, medians = append(out, x), append(bodies, values), append(medians, times)
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, decodeAll(out, bodies, medians)
}

// decodeAll fills in the results, on all cores: there may be thousands.
func decodeAll(out []Stored, bodies, medians [][]any) error {
	workers := runtime.GOMAXPROCS(0)
	failed := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			var text []byte
			for i := w; i < len(out) && failed[w] == nil; i += workers {
				text = together(text[:0], bodies[i])
				if err := out[i].decode(text, medians[i]); err != nil {
					failed[w] = fmt.Errorf("result %s: %w", out[i].ID, err)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// together appends the result that has these values at the paths, so that all of it is
// decoded at once.
func together(text []byte, values []any) []byte {
	text = append(text, '{')
	part := ""
	for i, v := range values {
		value, ok := v.(string)
		if !ok {
			continue // it is not there
		}
		head, field, nested := strings.Cut(comparableFields[i], ".")
		if part != "" && part != head {
			text, part = append(text, '}'), ""
		}
		if last := text[len(text)-1]; last != '{' {
			text = append(text, ',')
		}
		if nested && part == "" {
			text = append(append(append(text, '"'), head...), `":{`...)
			part = head
		}
		if !nested {
			field = head
		}
		text = append(append(append(append(text, '"'), field...), `":`...), value...)
	}
	if part != "" {
		text = append(text, '}')
	}
	return append(text, '}')
}

func (s *Stored) decode(text []byte, medians []any) error {
	if err := json.Unmarshal(text, &s.Result); err != nil {
		return err
	}
	if s.Result.Latency == nil {
		return nil
	}
	for _, m := range medians {
		if ms, ok := m.(float64); ok {
			s.Result.Latency.SamplesMS = append(s.Result.Latency.SamplesMS, []float64{ms})
		}
	}
	return nil
}
