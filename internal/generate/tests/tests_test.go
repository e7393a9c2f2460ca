package tests

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// all are the models of the catalogue that have a recipe, with every task.
func all(t *testing.T) []Model {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := cat.Select(catalog.Selector{All: true})
	if err != nil {
		t.Fatal(err)
	}
	var models []Model
	for _, ch := range chosen {
		m, err := Of(cat, ch)
		if none := new(catalog.NoRecipeError); errors.As(err, &none) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	if len(models) < 700 {
		t.Fatalf("only %d models have a file", len(models))
	}
	return models
}

// tooLong are the models whose files would be longer than is promised, with all
// platforms.
var tooLong = map[string]string{
	"qwen3_omni_moe": "its configuration alone, of four models, takes fifty wide lines",
}

// TestEveryModel: each model of the catalogue has a file, which is written alike
// twice, is not too long, and has a name that no other has, also where names
// that differ by case alone are one.
func TestEveryModel(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, m := range all(t) {
		made, err := File(m, platform.Names())
		if long := new(TooLongError); errors.As(err, &long) && tooLong[m.Type] != "" {
			continue
		}
		if err != nil || tooLong[m.Type] != "" {
			t.Errorf("%s: error %v, too long because %q", m.Type, err, tooLong[m.Type])
			continue
		}
		if again, err := File(m, platform.Names()); err != nil || again != made {
			t.Errorf("%s is written in two ways: %v", m.Type, err)
		}
		if lines := strings.Count(made.Text, "\n"); lines > Longest {
			t.Errorf("%s has %d lines, want %d at most", made.Name, lines, Longest)
		}
		if stamp, edited, ok := generate.Origin(made.Text); !ok || edited || stamp.Model != m.Type {
			t.Errorf("%s: its stamp is %+v (generated %v, edited %v)", made.Name, stamp, ok, edited)
		}
		lower := strings.ToLower(made.Name)
		if other := names[lower]; other != "" {
			t.Errorf("%s and %s are both written to %s", other, m.Type, lower)
		}
		names[lower] = m.Type
	}
}

// TestTooLongForAllPlatforms: a file that is too long for all platforms is not
// for one.
func TestTooLongForAllPlatforms(t *testing.T) {
	t.Parallel()
	for _, m := range all(t) {
		if _, err := File(m, []platform.Name{platform.CPU}); err != nil {
			t.Errorf("%s: %v", m.Type, err)
		}
	}
}

// TestEveryPlatform: a file knows the platforms that it was asked for, and no
// others.
func TestEveryPlatform(t *testing.T) {
	t.Parallel()
	for _, m := range all(t)[:20] {
		for _, n := range platform.Names() {
			made, err := File(m, []platform.Name{n})
			if err != nil {
				t.Fatalf("%s on %s: %v", m.Type, n, err)
			}
			for _, other := range platform.Names() {
				if has := strings.Contains(made.Text, "\n    \""+string(other)+"\": {"); has != (other == n) {
					t.Errorf("%s for %s: it knows %s: %v", m.Type, n, other, has)
				}
			}
		}
	}
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

// TestFilling: a row of a platform has its settings whatever its layout.
func TestFilling(t *testing.T) {
	t.Parallel()
	text := "    \"x\": {\n        \"engine\": \"torch\",\n        \"device\": \"x\",\n        \"here\": lambda: " + strings.Repeat("long", 15) + ",\n    },"
	want := "    \"x\": {\"engine\": \"torch\", \"device\": \"x\",\n        \"here\": lambda: " + strings.Repeat("long", 15) + "},"
	if got := (place{width: pytext.Width}).Row(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (place{}).Row(text); got != text {
		t.Errorf("a row that is not to be filled became\n%s", got)
	}
}
