package pytext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const long = "\"abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz\""

func TestValue(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, json, want string }{
		{"plain values", `{"a": null, "b": true, "c": false, "d": 1, "e": 1.5E-06}`, `{"a": None, "b": True, "c": False, "d": 1, "e": 1.5e-06}`},
		{"their order", `{"z": 1, "a": 2}`, `{"z": 1, "a": 2}`},
		{"nothing", `{"a": [], "b": {}, "c": ""}`, `{"a": [], "b": {}, "c": ""}`},
		{"one too long for a line", `[` + long + `, ` + long + `]`, "[\n    " + long + ",\n    " + long + ",\n]"},
		{"only the outer ones", `{"k": {"a": [1, 2], "b": ` + long + `, "c": ` + long + `}, "l": 3}`,
			"{\n    \"k\": {\n        \"a\": [1, 2],\n        \"b\": " + long + ",\n        \"c\": " + long + ",\n    },\n    \"l\": 3,\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := Parse([]byte(tt.json))
			if err != nil {
				t.Fatal(err)
			}
			if got := Value(v, 0, 0, 0); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`plain`:           `"plain"`,
		`it's`:            `"it's"`,
		`say "x"`:         `'say "x"'`,
		`"it's"`:          `'"it\'s"'`,
		`"it's" 'so'`:     `"\"it's\" 'so'"`,
		`back\slash`:      `"back\\slash"`,
		"a\nb\tc\x01\x7f": `"a\nb\tc\x01\x7f"`,
		`größer`:          `"größer"`,
	} {
		if got := Quote(given); got != want {
			t.Errorf("%q is written %s, want %s", given, got, want)
		}
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	of := func(args ...Argument) Call { return Call{"build", args} }
	short := of(Argument{Value: Code("x")}, Argument{"size", Tuple{2}}, Argument{"of", Tuple{1, "a"}})
	for _, tt := range []struct {
		name   string
		call   Call
		before int
		want   string
	}{
		{"on its line", short, 0, `build(x, size=(2,), of=(1, "a"))`},
		{"its arguments on a line", short, 60, "build(\n    x, size=(2,), of=(1, \"a\")\n)"},
		{"an argument a line", of(Argument{"a", Code(long)}, Argument{"b", Code(long)}), 0, "build(\n    a=" + long + ",\n    b=" + long + ",\n)"},
	} {
		if got := Value(tt.call, 0, tt.before, 0); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, json, want string }{
		{"what fits a line", `{"a": [1, 2]}`, `{"a": [1, 2]}`},
		{"as many as fit", `[` + long + `, 1, 2, ` + long + `, 3]`, "[\n    " + long + ", 1, 2,\n    " + long + ", 3,\n]"},
		{"what is long inside", `{"k": {"a": ` + long + `, "b": ` + long + `, "c": 1}, "l": 2}`,
			"{\n    \"k\": {\"a\": " + long + ",\n        \"b\": " + long + ", \"c\": 1},\n    \"l\": 2,\n}"},
	} {
		v, err := Parse([]byte(tt.json))
		if err != nil {
			t.Fatal(err)
		}
		if got := Fill(v, Width, 0, 0, 0); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[1,", `{"a"`, `{"a": }`, "nonsense"} {
		if v, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is %v, want an error", text, v)
		}
	}
}

// TestLayoutChangesNothing: whatever the layout, what is written is the same but
// for spaces, ends of lines and commas before a closing bracket; and no line is
// too long that could be broken.
func TestLayoutChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "v")
		line := bare(Inline(v))
		for name, text := range map[string]string{"Value": Value(v, 0, 0, 0), "Fill": Fill(v, Width, 0, 0, 0)} {
			if bare(text) != line {
				t.Fatalf("%s wrote\n%s\nfor\n%s", name, text, Inline(v))
			}
			for _, l := range strings.Split(text, "\n") {
				if utf8.RuneCountInString(l) > Width {
					t.Fatalf("%s wrote a line of %d:\n%s", name, utf8.RuneCountInString(l), text)
				}
			}
		}
	})
}

// bare is a text without what a layout may change.
func bare(text string) string {
	text = strings.NewReplacer("\n", "", " ", "").Replace(text)
	for _, closing := range []string{"]", "}", ")"} {
		text = strings.ReplaceAll(text, ","+closing, closing)
	}
	return text
}

// value draws values that recipes have: words and numbers, in lists and
// dictionaries of some depth.
func value(depth int) *rapid.Generator[any] {
	plain := rapid.OneOf(
		rapid.Map(rapid.IntRange(-5, 1<<20), func(n int) any { return n }),
		rapid.Map(rapid.StringOfN(rapid.RuneFrom([]rune("abz_ '\"\\\\äß\n\t")), 0, 20, -1), func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, false}),
	)
	if depth == 0 {
		return plain
	}
	inner := value(depth - 1)
	pair := rapid.Custom(func(t *rapid.T) Pair {
		return Pair{rapid.StringMatching(`[a-z_]{1,20}`).Draw(t, "key"), inner.Draw(t, "value")}
	})
	return rapid.OneOf(plain,
		rapid.Map(rapid.SliceOfN(inner, 0, 8), func(l []any) any { return l }),
		rapid.Map(rapid.SliceOfN(inner, 1, 3), func(l []any) any { return Tuple(l) }),
		rapid.Map(rapid.SliceOfN(pair, 0, 8), func(d []Pair) any { return Dict(d) }))
}

func TestIdentifier(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"bert": "bert", "stable-diffusion-xl": "stable_diffusion_xl", "a.b/../c": "a_b____c", "if": "if", "Évolla": "_volla",
	} {
		if got := Identifier(given); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}
