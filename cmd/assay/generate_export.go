package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/cell"
)

// export exports models into a folder in its own process, as users do,
// and returns the results of their checks. What cannot be exported is not an error.
func (s itself) export(ctx context.Context, folder string, models []string, how ...string) ([]cell.Result, error) {
	args := append([]string{"export", "--out", folder, "--force", "--json"}, how...)
	cmd, err := s.command(ctx, append(args, models...)...)
	if err != nil {
		return nil, err
	}
	var told bytes.Buffer
	cmd.Stdout = &told
	ended := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var rep struct{ Results []cell.Result }
	if err := json.Unmarshal(told.Bytes(), &rep); err != nil {
		return nil, fmt.Errorf("export what the files need: %w", errors.Join(ended, err))
	}
	return rep.Results, nil
}
