package exports

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []Entry{
		{Key: "abcdef0123", Type: "bert"},
		{Key: "abcdef4567", Type: "bert", Checkpoint: "google-bert/bert-base-uncased"},
		{Key: "0123456789", Type: "vit"},
	}
	for words, want := range map[string]string{
		"":                              "abcdef0123 abcdef4567 0123456789",
		"bert":                          "abcdef0123 abcdef4567",
		"bert-base-uncased":             "abcdef4567",
		"google-bert/bert-base-uncased": "abcdef4567",
		"abcdef":                        "abcdef0123 abcdef4567",
		"abcde":                         "",
		"vit abcdef0":                   "abcdef0123 0123456789",
		"gpt2":                          "",
	} {
		var got []string
		for _, e := range Choose(all, strings.Fields(words)) {
			got = append(got, e.Key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", words, got, want)
		}
	}
}
