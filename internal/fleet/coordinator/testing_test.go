package coordinator

import (
	"encoding/json"
	"testing"

	"assay/internal/cell"
	"assay/internal/fleet"
)

// result is the one result of an answer.
func result(t *testing.T, f fleet.Final) cell.Result {
	t.Helper()
	var r cell.Result
	if len(f.Results) != 1 {
		t.Fatalf("%d results", len(f.Results))
	}
	if err := json.Unmarshal(f.Results[0], &r); err != nil {
		t.Fatal(err)
	}
	return r
}
