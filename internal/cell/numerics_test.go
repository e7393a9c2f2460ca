package cell

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOldSamples: what an older version wrote of a sample that its graph could
// not be given is no sample that passed.
func TestOldSamples(t *testing.T) {
	t.Parallel()
	var got Numerics
	if err := json.Unmarshal([]byte(`{"pass":true,"samples":[{"name":"reversed","max_rel":0.5,"pass":true},
		{"name":"padded at the end","fixed":["attention_mask"],"pass":true}],"left_out":[{"name":"shorter","why":"no axis"}]}`), &got); err != nil {
		t.Fatal(err)
	}
	want := Numerics{Pass: true, Samples: []Sample{{Name: "reversed", MaxRel: new(0.5), Pass: true}},
		LeftOut: []Skip{{"shorter", "no axis"}, {"padded at the end", "the graph has fixed attention_mask"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"samples":7}`), &got); err == nil {
		t.Error("a number is taken for samples")
	}
}
