package catalog

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

func load(t testing.TB) *Catalog {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEmbedded checks that the embedded data agree with each other.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	c := load(t)
	if got := c.Count(Transformers); got < 700 {
		t.Errorf("the catalogue holds %d types: a release of transformers has over 700", got)
	}
	if got := c.Count(Diffusers); got < 150 {
		t.Errorf("the catalogue holds %d pipelines: a release of diffusers has over 150", got)
	}
	if got := c.Count(Transformers) + c.Count(Diffusers); got != len(c.Types()) {
		t.Errorf("%d of %d entries are of a known library", got, len(c.Types()))
	}
	for _, e := range c.Types() {
		if e.Component {
			if e.Class != "" || len(e.Heads) > 0 {
				t.Errorf("%s is a component and has a class", e.Type)
			}
			continue
		}
		if e.Class == "" || e.Task == "" || len(e.Heads) == 0 || (e.ConfigClass == "") != (e.Library == Diffusers) {
			t.Errorf("%s lacks a class, task or head: %+v", e.Type, e)
			continue
		}
		if e.Heads[0] != (Head{e.Task, e.Class}) {
			t.Errorf("%s: its first head %v is not its default %s, %s", e.Type, e.Heads[0], e.Task, e.Class)
		}
		if len(e.Families) == 0 || e.Families[0] != e.Family {
			t.Errorf("%s: its families %v do not begin with %s", e.Type, e.Families, e.Family)
		}
		for _, f := range e.Families {
			if !slices.Contains(cell.Families(), f) {
				t.Errorf("%s is of an unknown family %q", e.Type, f)
			}
		}
		if !slices.Contains([]string{"high", "medium", "low"}, e.Priority) {
			t.Errorf("%s has priority %q", e.Type, e.Priority)
		}
	}
}

// TestPipelines checks that diffusion has what the catalogue promises: at least
// twenty pipelines that run, of every task, networks of both kinds among them.
func TestPipelines(t *testing.T) {
	t.Parallel()
	c := load(t)
	known, err := c.recipes()
	if err != nil {
		t.Fatal(err)
	}
	tasks, networks, n := map[string]int{}, map[string]int{}, 0
	for name, list := range known.recipes {
		if e, _ := c.Get(name); e.Library != Diffusers {
			continue
		}
		for _, r := range list {
			n++
			tasks[r.Task]++
			var f struct {
				Program string
				Parts   map[string]*struct{ Class, Module string }
			}
			if err := json.Unmarshal(r.raw, &f); err != nil {
				t.Fatal(err)
			}
			if f.Program != "pipeline" || len(f.Parts) < 2 {
				t.Errorf("%s %s: program %q with %d parts", name, r.Task, f.Program, len(f.Parts))
			}
			for _, part := range []string{"unet", "transformer"} {
				if f.Parts[part] != nil {
					networks[part]++
				}
			}
		}
	}
	if n < 20 || networks["unet"] < 5 || networks["transformer"] < 5 {
		t.Errorf("%d pipelines have a recipe, with these networks: %v", n, networks)
	}
	for _, task := range []string{
		"text-to-image", "image-to-image", "inpainting", "text-to-video", "text-to-audio", "unconditional-image-generation",
	} {
		if tasks[task] == 0 {
			t.Errorf("no pipeline for %s has a recipe: %v", task, tasks)
		}
	}
}

func TestKeyModelsHaveRecipes(t *testing.T) {
	t.Parallel()
	c := load(t)
	for _, name := range append(KeyTypes(), "qwen3") {
		e, ok := c.Get(name)
		if !ok || e.Priority != "high" || e.Checkpoint == "" {
			t.Errorf("%s: in the catalogue %v, priority %q, checkpoint %q", name, ok, e.Priority, e.Checkpoint)
		}
		for _, size := range []string{cell.Tiny, cell.Full} {
			if r := recipeOf(t, c, name, size); r.Class != e.Class || r.Task != e.Task {
				t.Errorf("%s %s: the recipe is for %s (%s), the default is %s (%s)", name, size, r.Class, r.Task, e.Class, e.Task)
			}
		}
	}
}

type recipeFacts struct {
	Type, Class, Task, Size, Checkpoint string
	Config                              map[string]any
	Inputs                              []struct{ Name, Kind string }
	Control                             *struct{ Kind string }
	Gain                                float64
	Parameters                          int64
}

func recipeOf(t *testing.T, c *Catalog, modelType, size string) recipeFacts {
	t.Helper()
	b, err := c.Recipe(modelType, "", size, "")
	if err != nil {
		t.Fatal(err)
	}
	var r recipeFacts
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecipesAreWhole(t *testing.T) {
	t.Parallel()
	c := load(t)
	known, err := c.recipes()
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range known.recipes {
		if _, ok := c.Get(name); !ok {
			t.Errorf("a recipe is for %q, which the catalogue does not have", name)
		}
		for _, r := range list {
			var f recipeFacts
			if err := json.Unmarshal(r.raw, &f); err != nil {
				t.Fatal(err)
			}
			if len(f.Inputs) == 0 || f.Parameters <= 0 || f.Gain <= 0 || f.Class == "" {
				t.Errorf("%s %s: inputs %d, parameters %d, gain %g, class %q", name, f.Size, len(f.Inputs), f.Parameters, f.Gain, f.Class)
			}
			if tiny := f.Size == cell.Tiny; tiny != (f.Control != nil) || tiny != (f.Checkpoint == "") {
				t.Errorf("%s %s: control %v, checkpoint %q: tiny ones have the first, full ones the second", name, f.Size, f.Control, f.Checkpoint)
			}
		}
	}
}

func TestCheckpointsHaveTheirPublishedSize(t *testing.T) {
	t.Parallel()
	c := load(t)
	if len(c.Checkpoints()) < 14 {
		t.Fatalf("only %d checkpoints are known", len(c.Checkpoints()))
	}
	for _, k := range c.Checkpoints() {
		if k.Published != nil && *k.Published != k.Parameters {
			t.Errorf("%s: %d parameters are published and the recipe builds %d", k.Name, *k.Published, k.Parameters)
		}
		if _, err := c.Recipe(k.Type, "", cell.Full, k.Name); err != nil {
			t.Error(err)
		}
		if !strings.Contains(k.Source, k.Name) {
			t.Errorf("%s does not say where its values come from", k.Name)
		}
	}
}

func TestRepresentatives(t *testing.T) {
	t.Parallel()
	c := load(t)
	var have []string
	for _, r := range c.Representatives() {
		have = append(have, r.Family)
		if len(r.Types) == 0 && r.Why == "" {
			t.Errorf("%s has neither a representative nor a reason", r.Family)
		}
		for _, name := range r.Types {
			e, _ := c.Get(name)
			if !slices.Contains(e.Families, r.Family) {
				t.Errorf("%s represents %s and its families are %v", name, r.Family, e.Families)
			}
			if !c.HasRecipe(name, cell.Tiny) {
				t.Errorf("%s represents %s and has no recipe", name, r.Family)
			}
		}
	}
	if diff := cmp.Diff(cell.Families()[:11], have); diff != "" {
		t.Errorf("represented families (-want +got):\n%s", diff)
	}
}

func TestCommonNamesMeanSomething(t *testing.T) {
	t.Parallel()
	c := load(t)
	for name, meant := range c.names {
		if r, ok := c.asCommonName(name); !ok || name != strings.ToLower(name) {
			t.Errorf("%q means %q, which is nothing (%v)", name, meant, r)
		}
	}
}

// TestResolve goes through the names that the Python package is held to as well.
func TestResolve(t *testing.T) {
	t.Parallel()
	c := load(t)
	b, err := os.ReadFile("testdata/resolve.json")
	var cases []struct{ Name, Type, Checkpoint string }
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, tc := range cases {
		r, err := c.Resolve(tc.Name)
		if err != nil {
			t.Errorf("%q: %v", tc.Name, err)
		} else if r.Entry.Type != tc.Type || r.Checkpoint != tc.Checkpoint {
			t.Errorf("%q means %s, %q; want %s, %q", tc.Name, r.Entry.Type, r.Checkpoint, tc.Type, tc.Checkpoint)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	c := load(t)
	for _, name := range []string{"", "../etc/passwd", "/etc/passwd", `a\b`, "a/b/c", "bert\x00", strings.Repeat("x", 300)} {
		if r, err := c.Resolve(name); err == nil {
			t.Errorf("%q means %v", name, r.Entry.Type)
		}
	}
}

func TestUnknownModelNamesTheNearest(t *testing.T) {
	t.Parallel()
	_, err := load(t).Resolve("brt")
	var unknown *UnknownModelError
	ok := errors.As(err, &unknown)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	if len(unknown.Nearest) != 3 || unknown.Nearest[0] != "bart" && unknown.Nearest[0] != "bert" {
		t.Errorf("the nearest of brt are %v", unknown.Nearest)
	}
}

func FuzzResolve(f *testing.F) {
	for _, name := range []string{"bert", "google-bert/bert-base-uncased", "tinyllama", "../x", "\x00", "é", "T5"} {
		f.Add(name)
	}
	c := load(f)
	f.Fuzz(func(t *testing.T, name string) {
		r, err := c.Resolve(name)
		if (err == nil) == (r.Entry.Type == "") {
			t.Errorf("%q: entry %q, error %v", name, r.Entry.Type, err)
		}
	})
}

// TestCoverage: every type with a model class has a recipe or is a gap with its
// reason, never both, and gaps are few.
func TestCoverage(t *testing.T) {
	t.Parallel()
	c := load(t)
	known, err := c.recipes()
	if err != nil {
		t.Fatal(err)
	}
	var models, auto, run, autoRun int
	for _, e := range c.Types() {
		if e.Component || e.Library == Diffusers {
			continue
		}
		models++
		auto += boolean(e.Auto)
		_, without := known.gaps[e.Type]
		if has := c.HasRecipe(e.Type, cell.Tiny); has == without {
			t.Errorf("%s has a recipe: %t, is a gap: %t", e.Type, has, without)
		} else if has {
			run++
			autoRun += boolean(e.Auto)
		}
	}
	if run < 715 || autoRun*100 < auto*98 {
		t.Errorf("%d of %d types have a recipe, %d of the %d in the auto mappings", run, models, autoRun, auto)
	}
	for name, g := range known.gaps {
		if g.Reason == "" {
			t.Errorf("%s has no recipe for no reason", name)
		}
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestGap: a search that failed is not done again with the same release, unless
// a package was missing.
func TestGap(t *testing.T) {
	t.Parallel()
	c := load(t)
	for name, searched := range map[string]string{"tvp": c.Transformers, "dinat": ""} {
		_, err := c.Recipe(name, "", cell.Tiny, "")
		var none *NoRecipeError
		if !errors.As(err, &none) || none.Searched != searched || !strings.Contains(none.Reason, "found none") {
			t.Errorf("%s: %v, searched with %q", name, err, none.Searched)
		}
	}
}

// A checkpoint that documentation leaves open ("...") is none.
func TestCheckpointsHaveNames(t *testing.T) {
	t.Parallel()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Types() {
		if e.Checkpoint != "" && !strings.ContainsFunc(e.Checkpoint, unicode.IsLetter) {
			t.Errorf("%s has a checkpoint named %q", e.Type, e.Checkpoint)
		}
	}
}
