package tests

import (
	"testing"

	"assay/internal/generate/pytext"
)

func parsed(t *testing.T, text string) pytext.Dict {
	t.Helper()
	v, err := pytext.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(pytext.Dict)
}

func TestTokenizer(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"ids": {"eos_token": 1, "unk_token": 9}, "longest": 77, "around": ["eos_token"]}`: `{"eos_token": 1, "unk_token": 9, "longest": 77, "around": "$A <eos_token>"}`,
		`{"ids": {"bos_token": 2}, "around": ["bos_token", "eos_token"]}`:                   `{"bos_token": 2, "around": "<bos_token> $A <eos_token>"}`,
	} {
		if got := pytext.Inline(tokenizer(parsed(t, given))); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}

func TestWhatIsImpliedIsLeftOut(t *testing.T) {
	t.Parallel()
	given := `{"return_dict": true, "a": {"output_attentions": false, "b": [1], "return_dict": false}, "chunk_size_feed_forward": 0}`
	want := `{"a": {"b": [1], "return_dict": False}}`
	if got := pytext.Inline(plain(parsed(t, given))); got != want {
		t.Errorf("%s becomes %s, want %s", given, got, want)
	}
}

func TestImportLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"B", "A", "B"}, "from x import A, B"},
		{[]string{"T5EncoderModel", "CLIPTextModel", "clip"}, "from x import clip, CLIPTextModel, T5EncoderModel"},
		{[]string{"VeryLongNameOfSomeModelForConditionalGeneration", "VeryLongNameOfSomeModelConfiguration"},
			"from x import (\n    VeryLongNameOfSomeModelConfiguration,\n    VeryLongNameOfSomeModelForConditionalGeneration,\n)"},
	} {
		if got := importLine("x", tt.names...); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}
