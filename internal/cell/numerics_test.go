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

// TestControls: what a runner says about a control is kept, and results of older
// versions, which do not say where it was made, are read and written as they were.
func TestControls(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"kind":"zero-attention","change":0.5,"pass":true}`,
		`{"kind":"negate-quarter","change":1.8,"pass":true,"where":"engine","of":"lm_head","expected":1.8,"off":1e-7,"unmoved":["boxes"]}`,
		`{"kind":"negate-quarter","change":null,"pass":false,"where":"engine","of":"lm_head","expected":1.8,"note":"it did not run"}`,
		`{"kind":"zero-mlp","change":1,"snr_db":0,"pass":true,"where":"reference","why":"no graph in ONNX"}`,
	} {
		var c Control
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(c)
		if err != nil || string(got) != line {
			t.Errorf("%s, %v; want %s", got, err, line)
		}
	}
}
