package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/platform"
)

// choices are the types of the catalogue.
func choices(t *testing.T) (*catalog.Catalog, []catalog.Choice) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := cat.Select(catalog.Selector{All: true})
	if err != nil {
		t.Fatal(err)
	}
	return cat, chosen
}

// of is the model of a choice; false where the catalogue has no recipe for it,
// or its outputs say nothing.
func of(t *testing.T, cat *catalog.Catalog, ch catalog.Choice) (Model, bool) {
	t.Helper()
	m, err := Of(cat, ch)
	if none := new(catalog.NoRecipeError); errors.As(err, &none) || unheard[ch.Entry.Type] != "" {
		return Model{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, true
}

// all are the models of the catalogue that have a recipe.
func all(t *testing.T) []Model {
	t.Helper()
	cat, chosen := choices(t)
	var models []Model
	for _, ch := range chosen {
		if m, ok := of(t, cat, ch); ok {
			models = append(models, m)
		}
	}
	if len(models) < 700 {
		t.Fatalf("only %d models have a file", len(models))
	}
	return models
}

// TestEveryModel: each model of the catalogue has a file, which is written alike
// twice, is not too long, and has a name that no other has, also where names
// that differ by case alone are one.
func TestEveryModel(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, m := range all(t) {
		made, err := File(m, platform.Names())
		if err != nil {
			t.Errorf("%s: %v", m.Type, err)
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

// TestEveryTask: a file is written also for the tasks that are not a type's
// first; what was seen of the type was seen with that one, and is not asked.
func TestEveryTask(t *testing.T) {
	t.Parallel()
	cat, chosen := choices(t)
	found := 0
	for _, ch := range chosen {
		for _, head := range ch.Entry.Heads[min(1, len(ch.Entry.Heads)):] {
			ch.Task = head.Task
			m, ok := of(t, cat, ch)
			if !ok || head.Task == ch.Entry.Task {
				continue
			}
			found++
			made, err := File(m, platform.Names())
			if err != nil || !strings.Contains(made.Text, "OUTPUTS = None") || !strings.Contains(made.Text, m.Class) {
				t.Errorf("%s for %s: %v\n%s", m.Type, head.Task, err, made.Text)
			}
		}
	}
	if found == 0 {
		t.Error("no type has a second task")
	}
}

// TestTooLong: a file that no width makes short enough is not written, and the
// error says so.
func TestTooLong(t *testing.T) {
	t.Parallel()
	m := all(t)[0]
	m.recipe.Config = json.RawMessage(`{"a": [` + strings.Repeat(`{"key": "value", "list": [1, 2, 3]}, `, 2000) + `1]}`)
	made, err := File(m, platform.Names())
	var long *TooLongError
	if !errors.As(err, &long) || long.Lines <= Longest || !strings.Contains(err.Error(), m.Type) {
		t.Errorf("a configuration of 2000 rows gives %v and %d bytes", err, len(made.Text))
	}
}

// TestEveryPlatform: a file names the platforms that it was asked for, and no
// others; what they share knows these alone.
func TestEveryPlatform(t *testing.T) {
	t.Parallel()
	for _, n := range platform.Names() {
		made, err := Conftest([]platform.Name{n})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range platform.Names() {
			if has := strings.Contains(made.Text, "\n    \""+string(other)+"\": {"); has != (other == n) {
				t.Errorf("what tests on %s share knows %s: %v", n, other, has)
			}
		}
	}
	for _, m := range all(t)[:20] {
		for _, n := range platform.Names() {
			made, err := File(m, []platform.Name{n})
			if err != nil {
				t.Fatalf("%s on %s: %v", m.Type, n, err)
			}
			if want := fmt.Sprintf("\nPLATFORMS = (%q,)\n", n); !strings.Contains(made.Text, want) {
				t.Errorf("%s for %s: it lacks %s", m.Type, n, want)
			}
		}
	}
}
