package platform

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the Python package's copy of the tables")

// shared is where the Python package reads these tables from.
const shared = "../../runtimes/python/assay/platforms.json"

// TestSharedTables holds the Python package to the tables of this one: there
// is one order of fallbacks, of preference and of dtypes.
func TestSharedTables(t *testing.T) {
	t.Parallel()
	type row struct {
		Platform Name    `json:"platform"`
		Title    string  `json:"title"`
		Device   string  `json:"device"`
		Engine   Engine  `json:"engine"`
		InPages  bool    `json:"in_pages"`
		DTypes   []DType `json:"dtypes"`
		Fallback []Name  `json:"fallback"`
	}
	type order struct {
		Families []string `json:"families"`
		Order    []Name   `json:"order"`
	}
	tables := struct {
		Schema     int              `json:"schema"`
		Platforms  []row            `json:"platforms"`
		Preference []order          `json:"preference"`
		Otherwise  []Name           `json:"otherwise"`
		Spellings  map[string]DType `json:"spellings"`
	}{Schema: 1, Otherwise: otherwise, Spellings: spellings}
	for _, p := range All() {
		if len(p.Engines) == 0 {
			t.Fatalf("no row of engines runs on %s", p.Name)
		}
		e := p.Engines[0]
		tables.Platforms = append(tables.Platforms, row{p.Name, p.Title, p.Device, e, e.Traits().Pages, p.DTypes, append([]Name{}, p.Fallback...)})
	}
	for _, p := range preference {
		tables.Preference = append(tables.Preference, order{p.families, p.order})
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", " ")
	if err := enc.Encode(tables); err != nil {
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
		t.Errorf("%s is not what this package says; go test ./internal/platform -update writes it (-here +there):\n%s", shared, diff)
	}
}
