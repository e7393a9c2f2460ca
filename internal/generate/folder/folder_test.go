package folder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func choose(t *testing.T, cat *catalog.Catalog, models ...string) []catalog.Choice {
	t.Helper()
	chosen, err := cat.Select(catalog.Selector{Models: models})
	if err != nil {
		t.Fatal(err)
	}
	return chosen
}

// made writes what the folder is to hold, and returns it in short: file names
// with the platforms that they are for.
func made(t *testing.T, f Folder, cat *catalog.Catalog, chosen []catalog.Choice, on ...platform.Name) []string {
	t.Helper()
	contents, err := f.Make(cat, chosen, on)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range contents.Files {
		stamp, _, ok := generate.Origin(file.Text)
		if !ok {
			t.Errorf("%s has no stamp", file.Name)
		}
		out = append(out, file.Name+": "+strings.Join(stamp.Platforms, " "))
	}
	changes, err := generate.Plan(f.Dir, contents.Files)
	if err == nil && !f.Check {
		_, err = changes.Write(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMake: which files are made, for which platforms, as a folder fills.
func TestMake(t *testing.T) {
	t.Parallel()
	cat := load(t)
	bert, both := choose(t, cat, "bert"), choose(t, cat, "bert", "vit")
	all := strings.ReplaceAll(platform.Join(platform.Names()), ",", "")
	f := Folder{Dir: t.TempDir()}
	missing, check := f, f
	missing.Missing = true
	check.Check, check.Usual = true, true
	for _, step := range []struct {
		what   string
		folder Folder
		chosen []catalog.Choice
		on     []platform.Name
		want   []string
	}{
		{"nothing to check yet", check, nil, platform.Names(), nil},
		{"for one platform", f, bert, []platform.Name{"cpu"}, []string{"conftest.py: cpu", "test_hf_bert.py: cpu"}},
		{"nothing is missing", missing, bert, []platform.Name{"cpu"}, []string{"conftest.py: cpu"}},
		{"a model is missing", missing, both, []platform.Name{"cpu"}, []string{"conftest.py: cpu", "test_hf_vit.py: cpu"}},
		{"a platform is missing", missing, bert, []platform.Name{"cuda"}, []string{"conftest.py: cpu cuda", "test_hf_bert.py: cpu cuda"}},
		{"what is there is checked for what it knows", check, bert, platform.Names(), []string{"conftest.py: cpu cuda", "test_hf_bert.py: cpu cuda"}},
		{"what was named is checked", Folder{Dir: f.Dir, Check: true}, bert, platform.Names(), []string{"conftest.py: " + all, "test_hf_bert.py: " + all}},
	} {
		got := made(t, step.folder, cat, step.chosen, step.on...)
		if diff := cmp.Diff(inOrder(step.want), inOrder(got)); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
	}
}

// inOrder writes the platforms of each line in their order.
func inOrder(lines []string) []string {
	var out []string
	for _, line := range lines {
		name, words, _ := strings.Cut(line, ": ")
		on := strings.Fields(words)
		slices.Sort(on)
		out = append(out, name+": "+strings.Join(on, " "))
	}
	return out
}

// TestWithout: a model that can have no file is named, with the reason.
func TestWithout(t *testing.T) {
	t.Parallel()
	cat := load(t)
	f := Folder{Dir: t.TempDir()}
	contents, err := f.Make(cat, choose(t, cat, "rfd4-proteina"), platform.Names())
	if err != nil || len(contents.Files) != 0 || len(contents.Without) != 1 || contents.Without[0].Model != "rfd4-proteina" || contents.Without[0].Reason == "" {
		t.Errorf("%+v, %v", contents, err)
	}
}

// TestSkill: a skill's test is told from its module.
func TestSkill(t *testing.T) {
	t.Parallel()
	cat := load(t)
	f := Folder{Dir: t.TempDir(), Skills: true}
	contents, err := f.Make(cat, choose(t, cat, "bert"), []platform.Name{platform.CPU, platform.WebGPU})
	if err != nil || len(contents.Models) != 1 {
		t.Fatalf("%+v, %v", contents, err)
	}
	m := contents.Models[0]
	if m.Test != "test_skill_hf_bert.py" || m.Entry.Type != "bert" || m.Trial.Module == "" {
		t.Errorf("%+v", m)
	}
}

// TestConftestByFolder: skills have a small conftest.py of their own; where tests
// of models are in the folder, or come there, theirs serves both.
func TestConftestByFolder(t *testing.T) {
	t.Parallel()
	const small, large = "The options of the tests of skills", "What the generated tests of this folder share"
	for name, c := range map[string]struct {
		skills bool
		there  []string
		want   string
	}{
		"skills alone":         {true, nil, small},
		"skills beside skills": {true, []string{"test_skill_hf_bert.py"}, small},
		"skills beside tests":  {true, []string{"test_hf_bert.py"}, large},
		"tests alone":          {false, nil, large},
		"tests beside skills":  {false, []string{"test_skill_hf_bert.py"}, large},
	} {
		f := Folder{Dir: t.TempDir(), Skills: c.skills}
		for _, file := range c.there {
			if err := os.WriteFile(filepath.Join(f.Dir, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made, err := f.conftest(platform.Names())
		if err != nil || made.Name != generate.Conftest || !strings.Contains(made.Text, c.want) {
			t.Errorf("%s: %v: %.200s", name, err, made.Text)
		}
		if stamp, edited, ok := generate.Origin(made.Text); !ok || edited || stamp.Kind != "conftest" {
			t.Errorf("%s: the stamp is %+v (edited %v, found %v)", name, stamp, edited, ok)
		}
	}
}
