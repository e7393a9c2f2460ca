package cell_test

import (
	"math"
	"testing"

	"assay/internal/cell"
)

func fingerprint(reference string, samples map[string]map[string][]float64) *cell.Fingerprint {
	return &cell.Fingerprint{Reference: reference, Samples: samples}
}

func TestFingerprintsAreApartAsTheirOutputsAre(t *testing.T) {
	t.Parallel()
	type rows = map[string]map[string][]float64
	one := rows{"first": {"logits": {2, 0.5, -0.25}}, "padded": {"logits": {1, 0.1, 0.2}}}
	for name, tt := range map[string]struct {
		other          *cell.Fingerprint
		sample, output string
		by             float64
		comparable     bool
	}{
		"the same":          {fingerprint("cpu fp64", one), "first", "logits", 0, true},
		"another reference": {fingerprint("attention eager", one), "", "", 0, false},
		"none":              {nil, "", "", 0, false},
		"longer":            {fingerprint("cpu fp64", rows{"first": {"logits": {4, 0.5, -0.25}}}), "first", "logits", 0.25, true},
		"one product moved": {fingerprint("cpu fp64", rows{"first": {"logits": {2, 0.5, -0.25}}, "padded": {"logits": {1, 0.1, 0.23}}}), "padded", "logits", 0.03, true},
		"another output":    {fingerprint("cpu fp64", rows{"first": {"hidden": {2, 0.5, -0.25}}}), "first", "logits", math.Inf(1), true},
		"one output more":   {fingerprint("cpu fp64", rows{"first": {"logits": {2, 0.5, -0.25}, "more": {1, 1, 1}}}), "first", "", math.Inf(1), true},
		"no common sample":  {fingerprint("cpu fp64", rows{"other": {"logits": {2, 0.5, -0.25}}}), "", "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sample, output, by, both := fingerprint("cpu fp64", one).Difference(tt.other)
			if both != tt.comparable || math.Abs(by-tt.by) > 1e-12 && !math.IsInf(tt.by, 1) || math.IsInf(by, 1) != math.IsInf(tt.by, 1) {
				t.Fatalf("apart by %v (comparable %t), want %v (%t)", by, both, tt.by, tt.comparable)
			}
			if by > 0 && (sample != tt.sample || output != tt.output) {
				t.Fatalf("furthest at %q of %q, want %q of %q", output, sample, tt.output, tt.sample)
			}
		})
	}
}

func TestWhatChangedSinceARelease(t *testing.T) {
	t.Parallel()
	was := map[string]map[string][]float64{"first": {"logits": {2, 0.5, -0.25}}}
	kept := &cell.KeptFingerprint{Subject: "abc", Fingerprint: *fingerprint("cpu fp64", was)}
	near := fingerprint("cpu fp64", map[string]map[string][]float64{"first": {"logits": {2, 0.500001, -0.25}}})
	far := fingerprint("cpu fp64", map[string]map[string][]float64{"first": {"logits": {2, 0.6, -0.25}}})
	if c := kept.Since("transformers 5.22.2", "abc", near); c != nil {
		t.Errorf("what only rounds otherwise is %+v, want no change", c)
	}
	if c := kept.Since("transformers 5.22.2", "abc", far); c == nil || c.By == nil || *c.By < 0.09 || c.Since != "transformers 5.22.2" {
		t.Errorf("other answers are %+v, want a change of 0.1", c)
	}
	if c := kept.Since("transformers 5.22.2", "other", far); c == nil || c.NotComparable == "" || c.By != nil {
		t.Errorf("another subject is %+v, want: not comparable", c)
	}
	if c := kept.Since("x", "abc", fingerprint("attention eager", was)); c == nil || c.NotComparable == "" {
		t.Errorf("another reference is %+v, want: not comparable", c)
	}
	var none *cell.KeptFingerprint
	if c := none.Since("x", "abc", far); c != nil {
		t.Errorf("without a kept one it is %+v, want nothing", c)
	}
}
