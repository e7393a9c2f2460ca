package catalog_test

import (
	"math"
	"testing"

	"assay/internal/catalog"
)

// TestFingerprints: what is embedded can be read, is of types that there are,
// and holds numbers.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, e := range c.Types() {
		f, of := c.Fingerprint(e.Type, "")
		if f == nil {
			continue
		}
		kept++
		if of == "" || f.Subject == "" || len(f.Samples["first"]) == 0 {
			t.Errorf("%s: of %q, subject %q, %d rows", e.Type, of, f.Subject, len(f.Samples["first"]))
		}
		for _, rows := range f.Samples {
			for name, row := range rows {
				for _, x := range row {
					if len(row) != 5 || math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("%s: %s is %v", e.Type, name, row)
					}
				}
			}
		}
	}
	if kept < 700 {
		t.Errorf("%d types have a fingerprint, want 700 and more", kept)
	}
	if f, _ := c.Fingerprint("bert", "question-answering"); f != nil {
		t.Error("a head that is not the default one has the default one's fingerprint")
	}
}
