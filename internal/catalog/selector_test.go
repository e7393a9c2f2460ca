package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

func typesOf(choices []Choice) []string {
	var types []string
	for _, ch := range choices {
		types = append(types, ch.Entry.Type)
	}
	return types
}

func TestSelect(t *testing.T) {
	t.Parallel()
	c := load(t)
	for _, tc := range []struct {
		name     string
		selector Selector
		has      []string
		hasNot   []string
		least    int
	}{
		{"all", Selector{All: true}, []string{"bert", "vit"}, []string{"nougat"}, 700},
		{"key", Selector{Key: true}, KeyTypes(), []string{"gpt2"}, 13},
		{"family", Selector{Families: []string{"state-space"}}, []string{"mamba", "jamba"}, []string{"bert"}, 5},
		{"several families", Selector{Families: []string{"rag", "video"}}, []string{"rag", "vivit"}, []string{"bert"}, 5},
		{"group", Selector{Families: []string{"speech"}}, []string{"whisper", "wav2vec2"}, []string{"vit"}, 50},
		{"relatives", Selector{Families: []string{"bert"}}, []string{"bert", "albert", "roberta"}, []string{"gpt2"}, 10},
		{"relatives keep to their pipeline", Selector{Families: []string{"vit"}}, []string{"vit", "vitdet"}, []string{"vits"}, 3},
		{"diffusion", Selector{Families: []string{"diffusion"}}, []string{"stable-diffusion", "flux", "ddpm", "cascade"}, []string{"bert"}, 150},
		{"all pipelines that have a recipe", Selector{All: true}, []string{"stable-diffusion"}, []string{"rfd4-proteina"}, 760},
		{"task", Selector{Tasks: []string{"fill-mask"}}, []string{"bert", "distilbert"}, []string{"llama"}, 30},
		{"priority", Selector{Priorities: []string{"high"}}, []string{"bert", "xclip"}, []string{"mamba"}, 14},
		{"task narrows", Selector{Key: true, Tasks: []string{"text-generation"}}, []string{"llama", "bert"}, []string{"vit", "gpt2"}, 3},
		{"representatives", Selector{Representatives: true}, []string{"rag", "mamba"}, []string{"nougat"}, 11},
	} {
		choices, err := c.Select(tc.selector)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		got := typesOf(choices)
		for _, want := range tc.has {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %s is missing", tc.name, want)
			}
		}
		for _, not := range tc.hasNot {
			if slices.Contains(got, not) {
				t.Errorf("%s: %s is there", tc.name, not)
			}
		}
		if len(got) < tc.least {
			t.Errorf("%s: %d types, want at least %d", tc.name, len(got), tc.least)
		}
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s: a type is there twice", tc.name)
		}
	}
}

func TestSelectByName(t *testing.T) {
	t.Parallel()
	choices, err := load(t).Select(Selector{Models: []string{"bert", "bert-base-uncased", "bert"}, Tasks: []string{"question-answering"}})
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]string
	for _, ch := range choices {
		got = append(got, [3]string{ch.Entry.Type, ch.Checkpoint, ch.Task})
	}
	want := [][3]string{
		{"bert", "", "question-answering"},
		{"bert", "google-bert/bert-base-uncased", "question-answering"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

func TestSelectRefuses(t *testing.T) {
	t.Parallel()
	c := load(t)
	for _, tc := range []struct {
		selector Selector
		says     string
	}{
		{Selector{Models: []string{"no-such-model"}}, "nearest names"},
		{Selector{Families: []string{"plumbing"}}, "the families are encoder-only"},
		{Selector{Tasks: []string{"plumbing"}}, "the tasks are"},
		{Selector{Priorities: []string{"urgent"}}, "high, medium, low"},
	} {
		if _, err := c.Select(tc.selector); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: error %v, want one with %q", tc.selector, err, tc.says)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := load(t)
	for text, want := range map[string]string{"WHISPER": "whisper", "uncased": "bert", "object-det": "detr", "ViTFor": "vit"} {
		found := c.Search(text)
		if !slices.ContainsFunc(found, func(e Entry) bool { return e.Type == want }) {
			t.Errorf("a search for %q does not find %s among %d", text, want, len(found))
		}
	}
	if found := c.Search("no such text"); len(found) > 0 {
		t.Errorf("a search for nothing finds %s", found[0].Type)
	}
}

func TestNoRecipe(t *testing.T) {
	t.Parallel()
	c := load(t)
	for _, tc := range []struct{ modelType, task, size, checkpoint, says string }{
		{"nougat", "", cell.Tiny, "", "component"},
		{"no-such-type", "", cell.Tiny, "", "not in the catalogue"},
		{"bert", "text-to-speech", cell.Tiny, "", "no head"},
		{"llama", "", cell.Full, "meta-llama/Llama-2-7b-hf", "config.json"},
	} {
		_, err := c.Recipe(tc.modelType, tc.task, tc.size, tc.checkpoint)
		if none := (*NoRecipeError)(nil); !errors.As(err, &none) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: error %v", tc, err)
		}
	}
}

func TestRow(t *testing.T) {
	t.Parallel()
	e, _ := load(t).Get("bert")
	got := e.Row()
	if got.Tasks[0] != "fill-mask" || len(got.Tasks) < 5 {
		t.Errorf("tasks of bert: %v", got.Tasks)
	}
	got.Tasks = nil
	want := Row{
		Type: "bert", Library: "transformers", Class: "BertForMaskedLM", Task: "fill-mask", Family: "encoder-only", Families: []string{"encoder-only"},
		Pipeline: "text", Checkpoint: "google-bert/bert-base-uncased", Priority: "high", Inputs: []string{"input_ids"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row of bert (-want +got):\n%s", diff)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRecipes(b *testing.B) {
	for b.Loop() {
		if _, err := readRecipes(); err != nil {
			b.Fatal(err)
		}
	}
}
