package exports

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/filelock"
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

// TestRemoveNamed: what is named goes, all without a name; a word that names
// nothing removes nothing; what is in use does not keep the rest.
func TestRemoveNamed(t *testing.T) {
	t.Parallel()
	c := Cache{Dir: t.TempDir()}
	put(t, c, 1, 10, 0, nil)
	used := put(t, c, 2, 20, 0, nil)
	put(t, c, 3, 30, time.Hour, nil) // behind the one in use
	var unkept *UnkeptError
	if done, err := c.RemoveNamed([]string{"type1", "gpt2"}); !errors.As(err, &unkept) || unkept.Word != "gpt2" || done.Removed != nil {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := c.RemoveNamed([]string{"type1"}); err != nil || len(done.Removed) != 1 || done.Freed < 10 {
		t.Errorf("%+v, %v", done, err)
	}
	lock, err := c.hold(used, filelock.Shared)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := c.RemoveNamed(nil); !errors.Is(err, ErrInUse) || len(done.Removed) != 1 || done.Removed[0].Type != "type3" {
		t.Errorf("with one in use: %+v, %v", done, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if done, err := c.RemoveNamed(nil); err != nil || len(done.Removed) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := c.RemoveNamed(nil); err != nil || done.Removed == nil || len(done.Removed) != 0 {
		t.Errorf("of nothing: %+v, %v", done, err)
	}
}
