//go:build cgo

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/cell"
)

// Hosts returns every machine that a run came from, as its newest run saw it,
// after a sync.
func (s *Store) Hosts(ctx context.Context) (out []cell.Host, err error) {
	ses, _, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	const query = `SELECT host_id, host::VARCHAR FROM runs
		QUALIFY row_number() OVER (PARTITION BY host_id ORDER BY started_at DESC, id DESC) = 1 ORDER BY host_id`
	err = ses.rows(ctx, func(scan func(...any) error) error {
		var id, body string
		if err := scan(&id, &body); err != nil {
			return err
		}
		var h cell.Host
		if err := json.Unmarshal([]byte(body), &h); err != nil {
			return fmt.Errorf("host: %w", err)
		}
		h.ID = id // which says whether it was imported
		out = append(out, h)
		return nil
	}, query)
	return out, err
}
