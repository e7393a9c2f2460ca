package build

import (
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
)

// Without a run every type is unknown everywhere, and each says why.
func TestNothingPublished(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	a, err := From(cat, nil)
	if err != nil || len(a.Rows) != len(cat.Types()) {
		t.Fatalf("%d types, %v", len(a.Rows), err)
	}
	for _, row := range a.Rows {
		for _, c := range row.Claims {
			want := "no run on " + c.Target + " is published"
			if !cat.HasRecipe(row.Type, cell.Tiny) {
				want = "no recipe is known: "
			}
			if c.Verdict != cell.Unknown || !strings.HasPrefix(c.Note, want) {
				t.Fatalf("%s on %s: %+v", row.Type, c.Target, c)
			}
		}
	}
}
