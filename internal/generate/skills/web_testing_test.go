package skills

import (
	"slices"
	"testing"

	"assay/internal/catalog"
	"assay/internal/platform"
)

// TestTrials: what a skill's test in a browser needs, of models with pages and
// without.
func TestTrials(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	both := []platform.Name{platform.WebNN, platform.WebGPU}
	for _, tc := range []struct {
		model string
		on    []platform.Name
		want  Trial
	}{
		{"bert", platform.Names(), Trial{"test_skill_hf_bert.mjs", "bert-web-fp32", 0, both}},
		{"llama", platform.Names(), Trial{"test_skill_hf_llama.mjs", "llama-web-fp32-s32", 32, both}},
		{"vit", []platform.Name{platform.WebNN}, Trial{"test_skill_hf_vit.mjs", "vit-web-fp32", 0, both[:1]}},
		{"vit", []platform.Name{platform.CUDA}, Trial{}},
		{"rag", platform.Names(), Trial{}},
	} {
		e, ok := c.Get(tc.model)
		if !ok {
			t.Fatalf("the catalogue lacks %s", tc.model)
		}
		got, err := TrialOf(c, catalog.Choice{Entry: e}, tc.on)
		if err != nil || got.Module != tc.want.Module || got.Artefact != tc.want.Artefact || got.Seq != tc.want.Seq || !slices.Equal(got.Platforms, tc.want.Platforms) {
			t.Errorf("%s on %v: %+v, %v; want %+v", tc.model, tc.on, got, err, tc.want)
		}
	}
}

// TestLengths: how long the texts of graphs are, with a checkpoint's weights and
// with random ones.
func TestLengths(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string][2]int{
		"bert": {512, 16}, "t5": {512, 16}, "llama": {256, 32}, "llava": {256, 32}, "clip": {0, 16}, "vit": {0, 0},
	} {
		e, _ := c.Get(model)
		s, err := plan(c, catalog.Choice{Entry: e}, platform.Names())
		if err != nil || s.Length() != want[0] || s.TinyLength() != want[1] {
			t.Errorf("%s: %d and %d, %v; want %v", model, s.Length(), s.TinyLength(), err, want)
		}
		if s, err := plan(c, catalog.Choice{Entry: e}, []platform.Name{platform.CUDA}); err != nil || s.Length() != 0 {
			t.Errorf("%s has a length of %d without a graph, %v", model, s.Length(), err)
		}
	}
}
