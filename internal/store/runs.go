//go:build cgo

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Runs returns the runs, the newest first, after a sync.
func (s *Store) Runs(ctx context.Context) (out []RunRow, err error) {
	ses, _, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	const query = `SELECT id, coalesce(started_at, 'epoch'), coalesce(command, ''), coalesce(name, ''), coalesce(imported, false), host_id, host::VARCHAR,
		(SELECT count(*) FROM results x WHERE x.run_id = r.id)
		FROM runs r ORDER BY started_at DESC NULLS LAST, id DESC`
	err = ses.rows(ctx, func(scan func(...any) error) error {
		var r RunRow
		var host, body string
		if err := scan(&r.ID, &r.StartedAt, &r.Command, &r.Name, &r.Imported, &host, &body, &r.Results); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(body), &r.Host); err != nil {
			return fmt.Errorf("host of run %s: %w", r.ID, err)
		}
		r.Host.ID = host
		out = append(out, r)
		return nil
	}, query)
	return out, err
}
