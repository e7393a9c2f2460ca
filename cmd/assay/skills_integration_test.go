//go:build integration

package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/pages"
	"assay/internal/skillpages"
	"assay/internal/trial"
)

// TestIntegrationSkillPages: --run-tests opens skills in a real browser, on the
// graphs that export makes, and they do there what they say.
func TestIntegrationSkillPages(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	told, _, status := p.run(t, "generate", "skill", "bert", "vit", "llama", "rag", "--out", filepath.Join(p.dir, "skills"), "--run-tests", "--device", "webnn,webgpu", "--json")
	var found struct{ Files []trial.Model }
	if err := json.Unmarshal([]byte(told), &found); err != nil || status != exitOK || len(found.Files) != 8 {
		t.Fatalf("status %d, %v: %s", status, err, told)
	}
	for _, f := range found.Files {
		if f.Model == "rag" {
			if !f.Idle() || len(f.Skipped) != 1 || !strings.Contains(f.Skipped[0].Why, "is not for "+f.Device) {
				t.Errorf("what only torch runs: %+v", f)
			}
			continue
		}
		if f.Passed < 8 || len(f.Failed) > 0 || len(f.Skipped) > 0 {
			t.Errorf("%s on %s: %+v", f.Model, f.Device, f.File)
		}
	}
}

// mutants are ways to break the skill of bert for browsers, and the test that
// must notice each.
var mutants = map[string]struct{ file, was, is, noticed string }{
	"whole":                 {"", "", "", ""},
	"silently on the CPU":   {".mjs", "executionProviders: [provider]", `executionProviders: ["wasm"]`, "device"},
	"a wrong name":          {".mjs", `const MODEL = "bert"`, `const MODEL = "bart"`, "settings"},
	"a constant answer":     {".mjs", "return this.#answer(await this.#working().forward(given), given);", "this.#working(); return [];", "answer"},
	"swapped rows":          {".mjs", "answers.push(", "answers.unshift(", "batch"},
	"deaf":                  {".mjs", "const given = await plain(x);", `const given = await plain("the same");`, "input_matters"},
	"a step left out":       {".mjs", "told.fallback.push(", "[].push(", "fallback"},
	"a page without answer": {".html", "await skill.run(", "(await skill.run)(", "page"},
	"kept after release":    {".mjs", "this.#engine = null;", "", "release"},
}

// TestIntegrationSkillMutants: the test of a skill for browsers turns red when
// the skill is broken, and only then.
func TestIntegrationSkillMutants(t *testing.T) {
	t.Parallel()
	p := withWeb(t)
	skills, graphs := filepath.Join(p.dir, "skills"), filepath.Join(p.dir, "graphs")
	p.ok(t, "generate", "skill", "bert", "--out", skills)
	p.ok(t, "export", "bert", "--format", "web", "--out", graphs)
	run := inPacked(t)
	run.Artefacts = graphs
	for name, m := range mutants {
		run.Skills = mutated(t, skills, "skill_hf_bert"+m.file, m.was, m.is)
		files, err := run.Modules(t.Context(), []skillpages.Trial{{Module: "test_skill_hf_bert.mjs", Artefact: "bert-web-fp32"}})
		if err != nil {
			t.Fatal(err)
		}
		var red []string
		for _, c := range files[0].Failed {
			red = append(red, c.Test)
		}
		if m.noticed == "" && len(red) > 0 || m.noticed != "" && !slices.Contains(red, m.noticed) {
			t.Errorf("%s: %v failed, want %q", name, files[0].Failed, m.noticed)
		}
	}
}

// mutated copies a folder with a text replaced in one of its files.
func mutated(t *testing.T, dir, file, was, is string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "skills")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if was == "" {
		return to
	}
	text, err := os.ReadFile(filepath.Join(to, file))
	if err != nil || !strings.Contains(string(text), was) {
		t.Fatalf("%s has no %q: %v", file, was, err)
	}
	if err := os.WriteFile(filepath.Join(to, file), []byte(strings.Replace(string(text), was, is, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// inPacked makes trials by WebNN in the packed Chromium.
func inPacked(t *testing.T) skillpages.Run {
	t.Helper()
	web := packedWeb(t)
	pool := packedPool(t, web)
	return skillpages.Run{
		Runtime: filepath.Join(web.Package("onnxruntime-web"), "dist"), Platform: "webnn", Limit: time.Minute,
		Open: func(ctx context.Context, url string) (pages.Page, error) { return pool.Open(ctx, pages.Where{}, url) },
	}
}

// checkpoint makes a folder with a tiny BERT and a tokenizer of its own.
const checkpoint = `
import sys, torch, transformers
from tokenizers import Tokenizer, models, pre_tokenizers

torch.manual_seed(0)
words = ["[PAD]", "[UNK]", "[MASK]", "paris", "is", "the", "of", "france"]
made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "[UNK]"))
made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
transformers.PreTrainedTokenizerFast(tokenizer_object=made, **marks).save_pretrained(sys.argv[1])
config = transformers.BertConfig(vocab_size=8, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64)
transformers.BertForMaskedLM(config).save_pretrained(sys.argv[1])
`

// folderTold is what the command line of a skill prints.
type folderTold struct {
	Answer []struct {
		Token string
		ID    int
		Score float64
	}
	Settings struct {
		Reading, Platform, Weights string
		Parameters                 int
		Fallback                   []struct{ From, To, Reason string }
	}
}

// TestIntegrationSkillOfFolder: with the weights of a folder a skill reads texts
// with the folder's own tokenizer, its command line says all of it, and a graph of
// its own length gives torch's numbers.
func TestIntegrationSkillOfFolder(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir, weights := t.TempDir(), t.TempDir()
	p.ok(t, "generate", "skill", "bert", "--platform", "cpu,cuda,openvino,webgpu", "--out", dir)
	if out, err := exec.CommandContext(t.Context(), python, "-c", checkpoint, weights).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ask := func(platform, text string) (told folderTold, said string) {
		cmd := exec.CommandContext(t.Context(), python, "skill_hf_bert.py", text, "--platform", platform, "--weights", weights, "--settings", "--json")
		var heard strings.Builder
		cmd.Dir, cmd.Stderr, cmd.Env = dir, &heard, append(os.Environ(), "ASSAY=assay --python "+python, "HF_HUB_OFFLINE=1")
		for name, value := range p.vars {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &told)
		}
		if err != nil {
			t.Fatalf("%v: %s\n%s", err, out, heard.String())
		}
		return told, heard.String()
	}
	told, _ := ask("webgpu", "paris is the [MASK] of france")
	// Five of eight tokens, of which three are marks: some are words.
	if a := told.Answer; len(a) != 5 || a[0].Score < a[4].Score || a[0].Token+a[1].Token+a[2].Token+a[3].Token == "" {
		t.Errorf("the answer is %+v", a)
	}
	s := told.Settings
	if s.Platform != "cpu" || s.Weights != weights || s.Parameters == 0 || strings.HasPrefix(s.Reading, "bytes as ids") {
		t.Errorf("the settings are %+v", s)
	}
	if f := s.Fallback; len(f) != 1 || f[0].From != "webgpu" || f[0].To != "cpu" || !strings.Contains(f[0].Reason, "skill_hf_bert.html") {
		t.Errorf("the fallbacks are %+v", f)
	}

	onGraph, said := ask("openvino", "paris is the [MASK] of france")
	if onGraph.Settings.Platform != "openvino" || strings.Contains(said, "was cut") || math.Abs(onGraph.Answer[0].Score-told.Answer[0].Score) > 1e-4 {
		t.Errorf("on a graph it says %+v, on torch %+v; %s", onGraph, told.Answer, said)
	}
	for _, platform := range []string{"cpu", "openvino"} {
		if _, said := ask(platform, strings.Repeat("paris is ", 40)); !strings.Contains(said, "a text of 80 tokens was cut: there is room for 64") {
			t.Errorf("%s says of a long text: %s", platform, said)
		}
	}
}

// TestIntegrationSkills: every file that generate skill writes is Python that
// ruff has nothing to say of, and the tests of a few skills pass.
func TestIntegrationSkills(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir := t.TempDir()
	p.ok(t, "generate", "skill", "--all", "--out", dir)
	pytest := []string{"-m", "pytest", "-q", "-p", "no:cacheprovider"}
	for _, model := range []string{"bert", "vit", "qwen2", "wav2vec2", "clip", "rag", "timesfm"} {
		pytest = append(pytest, filepath.Join(dir, "test_skill_hf_"+model+".py"))
	}
	for _, check := range [][]string{
		{"-m", "compileall", "-q", dir},
		{"-m", "ruff", "check", "--isolated", "--no-cache", "--output-format", "concise", dir},
		{"-m", "ruff", "format", "--isolated", "--no-cache", "--check", dir},
		pytest,
	} {
		if out, err := exec.CommandContext(t.Context(), python, check...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%.2000s", check[:3], err, out)
		}
	}
}
