package lab

import (
	"encoding/json"
	"testing"

	"assay/internal/cell"
	"assay/internal/runner"

	"github.com/google/go-cmp/cmp"
)

// TestDescribeShares: results share the lab's context, which none may change.
func TestDescribeShares(t *testing.T) {
	t.Parallel()
	shared := cell.Context{Versions: map[string]string{"torch": "2.15.0"}, EnvironmentID: "e"}
	report := runner.Report{Threads: 2, Context: json.RawMessage(`{"versions":{"torch":"2.15.0+cpu","driver":"580"},"governor":"performance"}`)}
	got := describe(shared, report)
	want := cell.Context{
		Versions: map[string]string{"torch": "2.15.0+cpu", "driver": "580"}, EnvironmentID: "e", Governor: "performance", Threads: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"torch": "2.15.0"}, shared.Versions); diff != "" {
		t.Errorf("the shared context changed: %s", diff)
	}
}
