package catalog

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateHomes = flag.Bool("update-homes", false, "write data/homes.json anew: the rules' rows, and those that it has already")

// shared are the checkpoints that several types document and whose configuration
// is not known, in the order of the types.
func shared(c *Catalog) []string {
	count := map[string]int{}
	var out []string
	for _, e := range c.entries {
		if _, known := c.asCheckpoint(e.Checkpoint); e.Checkpoint == "" || known {
			continue
		}
		if count[e.Checkpoint]++; count[e.Checkpoint] == 2 {
			out = append(out, e.Checkpoint)
		}
	}
	return out
}

// byHand are the checkpoints whose type the rules get wrong, or cannot tell: people
// looked these up.
var byHand = []string{"CompVis/stable-diffusion-v1-4", "SG161222/Realistic_Vision_V5.1_noVAE", "Tongyi-MAI/Z-Image-Turbo", "facebook/pe-av-large",
	"black-forest-labs/FLUX.1-dev", "Tencent-Hunyuan/HunyuanDiT-v1.1-Diffusers", "Tencent-Hunyuan/HunyuanDiT-v1.2-Diffusers", "stabilityai/stable-diffusion-2-1-base", // only add-ons document these
	"google/medasr", "ibm-granite/granite-speech-3.2-8b", "microsoft/VibeVoice-1.5B", "microsoft/trocr-base-handwritten"}

// untold are those that nothing tells: they are no published model, or a part of one.
var untold = map[string]bool{"PaddlePaddle/Not_yet_released": true, "facebook/sam2_video.1-hiera-tiny": true, "nvidia/NVIDIA-Nemotron-3.5-Transcribe-30B-A4B": true}

// The table says of every checkpoint that several types document whose it is, and
// the rules, which serve other releases, say the same.
func TestHomes(t *testing.T) {
	t.Parallel()
	c := load(t)
	ruled := *c
	ruled.homes = nil
	homes := map[string]string{}
	for _, name := range byHand {
		homes[name] = c.homes[name]
	}
	for _, name := range shared(c) {
		r, _, err := ruled.documented(name)
		ambiguous := (*AmbiguousError)(nil)
		if homes[name] != "" {
			continue
		}
		if errors.As(err, &ambiguous) != untold[name] {
			t.Errorf("%s: %s, %v", name, r.Entry.Type, err)
		}
		if err == nil {
			homes[name] = r.Entry.Type
		}
	}
	if *updateHomes {
		writeHomes(t, c, homes)
		return
	}
	for name, want := range homes {
		if r, err := c.Resolve(name); err != nil || r.Entry.Type != want || c.homes[name] != want || r.Checkpoint != name {
			t.Errorf("%s is %s's (%s in the table, %v), want %s", name, r.Entry.Type, c.homes[name], err, want)
		}
	}
	if len(homes) != len(c.homes) || len(homes) < 140 {
		t.Errorf("%d rows, and the table has %d: run go test ./internal/catalog -update-homes and look at what it changes", len(homes), len(c.homes))
	}
}

func writeHomes(t *testing.T, c *Catalog, homes map[string]string) {
	t.Helper()
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		if homes[name] != "" {
			rows = append(rows, fmt.Sprintf("%q: %q", name, homes[name]))
		}
	}
	text := "{\"schema\": 1, \"homes\": {\n" + strings.Join(rows, ",\n") + "\n}}\n"
	if err := os.WriteFile("data/homes.json", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What several types document is the whole model's: neither the first by the
// alphabet, nor a part.
func TestDocumentedByMany(t *testing.T) {
	t.Parallel()
	c := load(t)
	for name, want := range map[string]string{
		"openai-community/gpt2": "gpt2", "facebook/sam-vit-huge": "sam", "zai-org/GLM-OCR": "glm_ocr", "seed-oss-36b-instruct": "seed_oss",
		"stabilityai/stable-diffusion-xl-base-1.0": "stable-diffusion-xl", "microsoft/trocr-base-handwritten": "vision-encoder-decoder",
		"Qwen/Qwen2-VL-7B-Instruct": "qwen2_vl", "Tongyi-MAI/Z-Image-Turbo": "z-image",
	} {
		if r, err := c.Resolve(name); err != nil || r.Entry.Type != want || r.Checkpoint == "" {
			t.Errorf("%s: %s of %s, %v", name, r.Checkpoint, r.Entry.Type, err)
		}
	}
	r, err := c.Resolve("PaddlePaddle/Not_yet_released")
	ambiguous := (*AmbiguousError)(nil)
	if !errors.As(err, &ambiguous) || len(ambiguous.Types) != 2 || r.Entry.Type != "" {
		t.Errorf("%+v, %v", r, err)
	}
}
