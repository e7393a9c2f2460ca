package session

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/internal/runner"
)

// Difference is how far the outputs in two kept files are from each other.
type Difference struct {
	A      string   `json:"a"`
	B      string   `json:"b"`
	MaxRel *float64 `json:"max_rel"` // largest error over the largest magnitude of either side; nil: nothing to compare
	Output string   `json:"output"`  // the worst one
	Note   string   `json:"note,omitempty"`
}

// Differences are those of all pairs of files, and of a batch's first row
// with a batch of one.
type Differences struct {
	Pairs   []Difference `json:"pairs"`
	Batches []Difference `json:"batches"`
}

// Compare compares kept outputs: every pair of files, and the pairs of a file
// of a batch of one with one of a larger batch.
func (s *Session) Compare(ctx context.Context, files []string, batches [][2]string) (Differences, error) {
	var out Differences
	r, err := s.runner(ctx, false)
	if err != nil {
		return out, err
	}
	options := map[string]any{"files": files, "batches": batches}
	answer, raised, err := ask(ctx, r, runner.Job{Kind: runner.CompareJob, Options: options})
	switch {
	case err != nil:
		return out, err
	case raised != nil:
		return out, fmt.Errorf("the outputs cannot be compared: %s: %s", raised.Type, raised.Message)
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("read the comparison: %w", err)
	}
	return out, nil
}
