package clean

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"Größe ×2":                     {"Größe ×2", "Größe ×2"},
		"two\nlines\tand\rmore":        {"two\nlines\tand more", "two lines and more"},
		"\x1b[31mred\x1b[0m":           {"red", "red"},
		"\x1b]0;owned\x07Pixel":        {"Pixel", "Pixel"},
		"a\u009b31mb\u0085c\x7f":       {"a 31mb c ", "a 31mb c "},
		"right\u202eto left\u2066 end": {"right to left  end", "right to left  end"},
	} {
		got := [2]string{Text(in), Line(in)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestNothingSteers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		if strings.ContainsFunc(Line(s), steers) {
			t.Fatalf("Line(%q) = %q", s, Line(s))
		}
		if strings.ContainsFunc(Text(s), func(r rune) bool { return r != '\n' && r != '\t' && steers(r) }) {
			t.Fatalf("Text(%q) = %q", s, Text(s))
		}
	})
}

// JSON shows no character that steers and means the same.
func TestJSONLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.StringOf(rapid.RuneFrom(nil, unicode.Bidi_Control, unicode.Cc, unicode.Latin))).Draw(t, "value")
		var b bytes.Buffer
		if err := WriteJSON(&b, want, "  "); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(b.Bytes(), func(r rune) bool { return r != '\n' && steers(r) }) {
			t.Fatalf("%q", b.String())
		}
		var got map[string]string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
