package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/runner"

	"github.com/google/go-cmp/cmp"
)

func load(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// answering is a runner whose child says what the test wants.
type answering struct {
	runner.Runner
	event runner.Event
	exit  runner.Exit
	err   error
	asked runner.Job
}

func (a *answering) Hello() runner.Hello { return runner.Hello{} }

func (a *answering) Run(_ context.Context, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
	a.asked = job
	if a.event != nil {
		on(a.event)
	}
	return a.exit, a.err
}

// TestRecipes: every recipe of the catalogue has what the lab needs of it.
func TestRecipes(t *testing.T) {
	t.Parallel()
	cat := load(t)
	r := &recipes{catalog: cat}
	n := 0
	for _, e := range cat.Types() {
		if !cat.HasRecipe(e.Type, cell.Tiny) {
			continue
		}
		n++
		got, err := r.Recipe(t.Context(), cell.Cell{Type: e.Type}.Normal())
		if err != nil {
			t.Errorf("%s: %v", e.Type, err)
			continue
		}
		if got.Class == "" || got.Task == "" || got.Parameters <= 0 || !json.Valid(got.JSON) {
			t.Errorf("%s: class %q, task %q, %d parameters", e.Type, got.Class, got.Task, got.Parameters)
		}
	}
	if n < 10 {
		t.Errorf("only %d types have a recipe", n)
	}
	bert, err := r.Recipe(t.Context(), cell.Cell{Type: "bert"}.Normal())
	if bert.Kept == nil || bert.KeptOf == "" {
		t.Error("bert has no fingerprint to be compared with")
	}
	if err != nil || bert.Class != "BertForMaskedLM" || bert.Task != "fill-mask" || bert.Seq == 0 || bert.Image != 0 {
		t.Errorf("bert: %+v, %v", bert, err)
	}
}

func TestNoRecipe(t *testing.T) {
	t.Parallel()
	r := &recipes{catalog: load(t)}
	var none *catalog.NoRecipeError
	if _, err := r.Recipe(t.Context(), cell.Cell{Type: "bert", Task: "depth-estimation"}.Normal()); !errors.As(err, &none) {
		t.Errorf("a head that bert has not: %v", err)
	}
	got, err := r.Recipe(t.Context(), cell.Cell{Type: "noop", Engine: "noop", Task: "crash"}.Normal())
	if err != nil || got.Task != "crash" || got.JSON != nil {
		t.Errorf("a no-op: %+v, %v", got, err)
	}
}

// TestSearchedRecipe: a type without a recipe is searched for once; what is
// found is kept, and what is not is the catalogue's word with the reason.
func TestSearchedRecipe(t *testing.T) {
	t.Parallel()
	// A type that lacks a package when the catalogue was made.
	dinat := cell.Cell{Type: "dinat"}.Normal()
	child := &answering{event: runner.Data{Data: json.RawMessage(`{"class":"DinatFound","task":"image-classification","parameters":7}`)}}
	r := &recipes{catalog: load(t), runner: child, cache: t.TempDir()}
	for range 2 {
		got, err := r.Recipe(t.Context(), dinat)
		if err != nil || got.Class != "DinatFound" {
			t.Fatalf("%+v, %v", got, err)
		}
		if child.asked.Cell.Type != "dinat" || child.asked.Kind != runner.RecipeJob {
			t.Fatalf("the child was asked %+v", child.asked)
		}
		r.runner = nil // the second time nobody is asked
	}
	r = &recipes{catalog: load(t), runner: &answering{event: runner.Failure{Type: "X", Message: "nothing runs"}}, cache: t.TempDir()}
	var none *catalog.NoRecipeError
	if _, err := r.Recipe(t.Context(), dinat); !errors.As(err, &none) || !strings.Contains(err.Error(), "nothing runs") {
		t.Errorf("got %v", err)
	}
	// So is one that has a recipe for another release only: the model does not run, and the machine is not broken.
	r = &recipes{catalog: load(t), release: "0.0.1", runner: &answering{event: runner.Failure{Type: "assay_runner.subjects.recipes.making.NoRecipe", Message: "nothing runs"}}, cache: t.TempDir()}
	if _, err := r.Recipe(t.Context(), cell.Cell{Type: "bert"}.Normal()); !errors.As(err, &none) || none.Failure().Class != cell.ModelError || !strings.Contains(err.Error(), "nothing runs") {
		t.Errorf("got %v", err)
	}
	// What was searched for in vain with this release is not searched for again.
	r = &recipes{catalog: load(t), release: r.catalog.Transformers}
	if _, err := r.Recipe(t.Context(), cell.Cell{Type: "tvp"}.Normal()); !errors.As(err, &none) || none.Searched != r.release {
		t.Errorf("got %v", err)
	}
}

// TestRecipesHaveTheirShare: a search computes, and others run beside it: no
// job of a session may take all cores.
func TestRecipesHaveTheirShare(t *testing.T) {
	t.Parallel()
	for workers, want := range map[int]int{1: 16, 8: 2, 14: 1, 64: 1} {
		o := capturedOptions(t, "h200") // which has sixteen cores
		o.Catalog, o.Workers = load(t), workers
		s := New(o)
		child := &answering{event: runner.Data{Data: json.RawMessage(`{"class":"DinatFound"}`)}}
		if _, err := s.recipes(&open{Runner: child}).Recipe(t.Context(), cell.Cell{Type: "dinat"}.Normal()); err != nil {
			t.Fatal(err)
		}
		if child.asked.Threads != want {
			t.Errorf("%d workers: a search has %d threads, want %d", workers, child.asked.Threads, want)
		}
	}
}

// TestForeignRecipe: under another release the runner is handed the recipe, and
// what it answers is kept; under its own release nobody is asked.
func TestForeignRecipe(t *testing.T) {
	t.Parallel()
	bert := cell.Cell{Type: "bert"}.Normal()
	child := &answering{event: runner.Data{Data: json.RawMessage(`{"class":"BertNext","task":"fill-mask","parameters":7}`)}}
	r := &recipes{catalog: load(t), runner: child, release: "9.0.0", cache: t.TempDir()}
	for range 2 {
		got, err := r.Recipe(t.Context(), bert)
		if err != nil || got.Class != "BertNext" {
			t.Fatalf("%+v, %v", got, err)
		}
		r.runner = nil
	}
	handed, _ := child.asked.Options["recipe"].(json.RawMessage)
	if !strings.Contains(string(handed), "BertForMaskedLM") {
		t.Errorf("the runner was handed %s", handed)
	}
	own := &recipes{catalog: load(t), release: r.catalog.Transformers}
	if got, err := own.Recipe(t.Context(), bert); err != nil || got.Class != "BertForMaskedLM" {
		t.Errorf("its own release: %+v, %v", got, err)
	}
	gone := &recipes{catalog: load(t), runner: &answering{event: runner.Failure{Type: "X", Message: "nothing runs"}}, release: "9.0.0"}
	if _, err := gone.Recipe(t.Context(), bert); err == nil || !strings.Contains(err.Error(), "nothing runs") {
		t.Errorf("got %v", err)
	}
}

// TestAskedRecipe: a folder's recipe comes from the runner, and so do the
// reasons against it.
func TestAskedRecipe(t *testing.T) {
	t.Parallel()
	folder := cell.Cell{Type: "bert", Checkpoint: "/models/mine/config.json", Size: cell.Full}.Normal()
	raised := runner.Failure{Type: "assay_runner.errors.TooLarge", Bases: []string{"MemoryError"}, Message: "it has too many parameters"}
	for name, tc := range map[string]struct {
		child *answering
		want  lab.Recipe
		class cell.FailureClass
		said  string
	}{
		"an answer": {child: &answering{event: runner.Data{Data: json.RawMessage(`{"class":"C","task":"t","parameters":7,"sizes":{"seq":16,"image":32}}`)}},
			want: lab.Recipe{Class: "C", Task: "t", Parameters: 7, Seq: 16, Image: 32}},
		"an exception":   {child: &answering{event: raised}, class: cell.OutOfMemory, said: "too many parameters"},
		"nothing":        {child: &answering{exit: runner.Exit{Signal: 11}}, said: "the child"},
		"no runner":      {child: &answering{err: errors.New("gone")}, said: "gone"},
		"not an object":  {child: &answering{event: runner.Data{Data: json.RawMessage(`[]`)}}, said: "cannot be parsed"},
		"of other types": {child: &answering{event: runner.Data{Data: json.RawMessage(`{"parameters":"many"}`)}}, said: "cannot be parsed"},
	} {
		got, err := (&weighted{recipes: &recipes{runner: tc.child}}).Recipe(t.Context(), folder)
		if tc.child.asked.Kind != runner.RecipeJob || tc.child.asked.Options["config"] != folder.Checkpoint {
			t.Errorf("%s: the child was asked %+v", name, tc.child.asked)
		}
		if (err == nil) != (tc.said == "") || err != nil && !strings.Contains(err.Error(), tc.said) {
			t.Errorf("%s: error %v, want %q", name, err, tc.said)
		}
		got.JSON = nil
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var f interface{ Failure() cell.Failure }
		if tc.class != "" && (!errors.As(err, &f) || f.Failure().Class != tc.class) {
			t.Errorf("%s: %v is not of class %s", name, err, tc.class)
		}
	}
}

// FuzzParse: whatever a runner answers is a recipe or an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"class":"C","parameters":1,"sizes":{"seq":1}}`, `[`, `{"sizes":[]}`, `{"parameters":1e99}`, "null"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if err == nil && !json.Valid(r.JSON) {
			t.Errorf("%q was taken as a recipe", b)
		}
	})
}

// A checkpoint's configuration is known whatever head is asked for: the runner
// makes the recipe of one that the catalogue does not hold.
func TestOneConfigurationServesAllHeads(t *testing.T) {
	t.Parallel()
	made := `{"class":"BertModel","task":"feature-extraction","parameters":109482240}`
	a := &answering{event: runner.Data{Data: json.RawMessage(made)}}
	r := &recipes{catalog: load(t), runner: a}
	c := cell.Cell{Type: "bert", Checkpoint: "google-bert/bert-base-uncased", Size: cell.Full, Task: "feature-extraction"}.Normal()
	got, err := r.Recipe(t.Context(), c)
	if err != nil || got.Class != "BertModel" || a.asked.Cell.Task != "feature-extraction" {
		t.Errorf("%+v, %v; asked %+v", got, err, a.asked.Cell)
	}
	c.Checkpoint = "nobody/knows-it"
	if _, err := r.Recipe(t.Context(), c); err == nil {
		t.Error("a configuration that nobody knows is made up")
	}
}
