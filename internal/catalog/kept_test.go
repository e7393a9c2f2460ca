package catalog

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKept: releases that were read before are found, others are told from
// those that cannot be read.
func TestKept(t *testing.T) {
	t.Parallel()
	embedded, kept := load(t), Kept{t.TempDir()}
	if got := kept.Releases(embedded); !cmp.Equal(got, []string{embedded.Transformers}) {
		t.Errorf("an empty folder: %v", got)
	}
	for release, text := range map[string]string{
		"4.0.0":               `{"schema":1,"transformers":"4.0.0","types":[{"type":"bert","class":"BertModel","library":"transformers"}]}`,
		"9.9.9":               "garbage",
		embedded.Transformers: "never read",
	} {
		if err := os.WriteFile(kept.Path(release), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{embedded.Transformers, "4.0.0", "9.9.9"}, kept.Releases(embedded)); diff != "" {
		t.Error(diff)
	}
	for release, want := range map[string]struct {
		found string // its release; "" for none
		fails bool
	}{
		embedded.Transformers: {embedded.Transformers, false},
		"4.0.0":               {"4.0.0", false},
		"3.0.0":               {"", false},
		"9.9.9":               {"", true},
	} {
		c, ok, err := kept.Find(embedded, release)
		if (err != nil) != want.fails || ok != (want.found != "") || ok && c.Transformers != want.found {
			t.Errorf("%q: %v, %v", release, ok, err)
		}
	}
}
