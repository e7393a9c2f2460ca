package weblab

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Pixel 9":                         "Pixel 9",
		"\x1b[2J\x1b]0;owned\x07Pixel":    "[2J]0;ownedPixel",
		"two\nlines\tand\rmore":           "two lines and more",
		"right\u202eto left\u2066 \u0085": "rightto left",
		"Größe ×2":                        "Größe ×2",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNothingThatIsSaidSteersATerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var line string
		plainly(func(s string) { line = s })(rapid.String().Draw(t, "said"))
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || len([]rune(line)) > mostWords+1 {
			t.Fatalf("%q", line)
		}
	})
}

func TestHearing(t *testing.T) {
	t.Parallel()
	var got said
	text := `{"kind":"hello","about":{"user_agent":"a\u001b[31mb","model":"x\ny","cores":8,"memory_gb":0.5,"brands":[{"brand":"\u0007Chrome","version":"1"}]},"models":[0,1]}`
	if err := hearing([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	cores, memory := 8, 0.5
	want := said{Kind: "hello", Models: []int{0, 1}, About: About{UserAgent: "a[31mb", Model: "x y", Cores: &cores, MemoryGB: &memory, Brands: []Brand{{"Chrome", "1"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := hearing([]byte("{"), &got); err == nil {
		t.Error("half an object was understood")
	}
}
