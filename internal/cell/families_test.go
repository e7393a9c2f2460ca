package cell

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the runner's copy of the families")

// TestSharedFamilies holds the runner to the families of this package: there is
// one list of them.
func TestSharedFamilies(t *testing.T) {
	t.Parallel()
	const shared = "../../runtimes/python/assay_runner/data/families.json"
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", " ")
	if err := enc.Encode(families); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(shared, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(shared)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("%s is not what this package says; go test ./internal/cell -update writes it (-here +there):\n%s", shared, diff)
	}
}
