//go:build integration

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestIntegrationSkillPages: the page of a skill, with the artefact that export
// makes beside it, runs its model in a real browser and says where.
func TestIntegrationSkillPages(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	dir := t.TempDir()
	p.ok(t, "generate", "skill", "bert", "vit", "llama", "--out", dir)
	p.ok(t, "export", "bert", "vit", "--format", "onnx", "--out", dir)
	p.ok(t, "export", "llama", "--format", "onnx", "--seq", "32", "--out", dir)
	site := skillSite(t, dir)
	tab := somebody(t, chromedp.Flag("enable-unsafe-webgpu", true), chromedp.Flag("use-webgpu-adapter", "swiftshader"))
	for _, tc := range []struct{ model, platform, answer string }{
		{"bert", "webnn", `answer.length === 5 && answer.every(({ token, id, score }) => typeof token === "string" && id >= 0 && score > 0)`},
		{"bert", "webgpu", `answer.length === 5 && answer[0].score >= answer[4].score`},
		{"bert", "cpu", `answer[0].score >= answer[4].score`},
		{"vit", "webnn", `Math.abs(answer[0].score + answer[1].score - 1) < 1e-5`},
		{"vit", "webgpu", `answer.length === 2`},
		{"vit", "cpu", `answer[0].label.startsWith("LABEL_")`},
		{"llama", "cpu", `typeof answer === "string" && answer.length <= 16`},
	} {
		address := site + "/skill_hf_" + tc.model + ".html?platform=" + tc.platform + "&ort=/ort/"
		for _, step := range []chromedp.Action[chromedp.Void]{chromedp.Navigate(address), chromedp.Click("button")} {
			if _, err := chromedp.Run(tab, step); err != nil {
				t.Fatalf("%s: %v", address, err)
			}
		}
		see(tab, t, `!["", "Loading …"].includes(document.querySelector("#answer").textContent)`)
		shown, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("#answer").textContent`))
		if err != nil {
			t.Fatal(err)
		}
		var told struct {
			Settings struct {
				Model, Asked, Platform, DType string
				Parameters                    int
				Fallback                      []map[string]string
			}
		}
		if err := json.Unmarshal([]byte(shown), &told); err != nil {
			t.Errorf("%s on %s says %s", tc.model, tc.platform, shown)
			continue
		}
		if s := told.Settings; s.Model != tc.model || s.Asked != tc.platform || s.Platform != tc.platform || s.Parameters == 0 || len(s.Fallback) != 0 {
			t.Errorf("%s on %s says %+v", tc.model, tc.platform, s)
		}
		see(tab, t, `(({ answer }) => `+tc.answer+`)(JSON.parse(document.querySelector("#answer").textContent))`)
	}
}

// skillSite serves a folder of skills, and ONNX Runtime Web under /ort/.
func skillSite(t *testing.T, dir string) string {
	t.Helper()
	web, err := webEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	packages := http.StripPrefix("/ort/", http.FileServer(http.Dir(filepath.Join(web, "node_modules", "onnxruntime-web", "dist"))))
	files := http.FileServer(http.Dir(dir))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".mjs") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		if strings.HasPrefix(r.URL.Path, "/ort/") {
			packages.ServeHTTP(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// checkpoint makes a folder with a tiny BERT and a tokenizer of its own.
const checkpoint = `
import sys, transformers
from tokenizers import Tokenizer, models, pre_tokenizers

words = ["[PAD]", "[UNK]", "[MASK]", "paris", "is", "the", "of", "france"]
made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "[UNK]"))
made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
transformers.PreTrainedTokenizerFast(tokenizer_object=made, **marks).save_pretrained(sys.argv[1])
config = transformers.BertConfig(vocab_size=8, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
transformers.BertForMaskedLM(config).save_pretrained(sys.argv[1])
`

// TestIntegrationSkillOfFolder: with the weights of a folder a skill reads texts
// with the folder's own tokenizer, and its command line says all of it.
func TestIntegrationSkillOfFolder(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	dir, weights := t.TempDir(), t.TempDir()
	p.ok(t, "generate", "skill", "bert", "--platform", "cpu,cuda,webgpu", "--out", dir)
	if out, err := exec.CommandContext(t.Context(), python, "-c", checkpoint, weights).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	asked := []string{"skill_hf_bert.py", "paris is the [MASK] of france", "--platform", "webgpu", "--weights", weights, "--settings", "--json"}
	cmd := exec.CommandContext(t.Context(), python, asked...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var told struct {
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
	if err == nil {
		err = json.Unmarshal(out, &told)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if a := told.Answer; len(a) != 5 || a[0].Score < a[4].Score || a[0].Token == "" && a[1].Token == "" {
		t.Errorf("the answer is %+v", a)
	}
	s := told.Settings
	if s.Platform != "cpu" || s.Weights != weights || s.Parameters == 0 || s.Reading == "bytes as ids" {
		t.Errorf("the settings are %+v", s)
	}
	if f := s.Fallback; len(f) != 1 || f[0].From != "webgpu" || f[0].To != "cpu" || !strings.Contains(f[0].Reason, "skill_hf_bert.html") {
		t.Errorf("the fallbacks are %+v", f)
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
