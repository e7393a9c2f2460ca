package skills

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/platform"
)

// all writes the skills of every type that has a recipe which skills can run.
func all(t *testing.T) map[string][]generate.File {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	written := map[string][]generate.File{}
	for _, e := range c.Types() {
		if !c.HasRecipe(e.Type, "tiny") {
			continue
		}
		files, err := Files(c, catalog.Choice{Entry: e}, platform.Names())
		if err != nil {
			t.Errorf("%s: %v", e.Type, err)
			continue
		}
		written[e.Type] = files
	}
	return written
}

var (
	shared  sync.Once
	skilled map[string][]generate.File
)

// everything is all, made once for the tests that only read it.
func everything(t *testing.T) map[string][]generate.File {
	t.Helper()
	shared.Do(func() { skilled = all(t) })
	return skilled
}

var (
	defined = regexp.MustCompile(`(?m)^(?:    )?def (_\w+)\(`)
	called  = regexp.MustCompile(`\b(_[a-z]\w*)\b`)
	dunder  = regexp.MustCompile(`^__`)
)

// TestPiecesFit holds the composition true: what a file calls it defines, and
// what it defines it calls.
func TestPiecesFit(t *testing.T) {
	t.Parallel()
	for model, files := range everything(t) {
		for _, f := range files {
			if !strings.HasSuffix(f.Name, ".py") || strings.HasPrefix(f.Name, "test_") {
				continue
			}
			counts := map[string]int{}
			for _, m := range called.FindAllStringSubmatch(f.Text, -1) {
				counts[m[1]]++
			}
			var has []string
			for _, m := range defined.FindAllStringSubmatch(f.Text, -1) {
				if name := m[1]; !dunder.MatchString(name) {
					has = append(has, name)
					if counts[name] < 2 {
						t.Errorf("%s of %s defines %s, which nothing calls", f.Name, model, name)
					}
				}
			}
			for name := range counts {
				if strings.Contains(f.Text, name+"(") && !dunder.MatchString(name) && !slices.Contains(has, name) && !strings.Contains(f.Text, "."+name+"(") {
					t.Errorf("%s of %s calls %s, which nothing defines", f.Name, model, name)
				}
			}
			if strings.Contains(f.Text, "<no value>") || strings.Contains(f.Text, "{{.") {
				t.Errorf("%s of %s holds what a template left behind", f.Name, model)
			}
		}
	}
}

var (
	declared = regexp.MustCompile(`(?m)^(?:const|function|async function|class) (\w+)`)
	exported = regexp.MustCompile(`(?m)^export (?:const|async function|class) (\w+)`)
)

// TestModulePiecesFit: what an ES module declares it uses, and it exports what
// its readers import; a skill has one, and its test is another.
func TestModulePiecesFit(t *testing.T) {
	t.Parallel()
	modules := 0
	for model, files := range everything(t) {
		for _, f := range files {
			if !strings.HasSuffix(f.Name, ".mjs") {
				continue
			}
			modules++
			for _, m := range declared.FindAllStringSubmatch(f.Text, -1) {
				if strings.Count(f.Text, m[1]) < 2 {
					t.Errorf("%s of %s declares %s, which nothing uses", f.Name, model, m[1])
				}
			}
			var out []string
			for _, m := range exported.FindAllStringSubmatch(f.Text, -1) {
				out = append(out, m[1])
			}
			wanted := []string{"load", "example", "Unavailable", "Failed", "FALLBACK"}
			if f.Name == WebTest(model) {
				wanted = []string{"run"}
			}
			for _, name := range wanted {
				if !slices.Contains(out, name) {
					t.Errorf("%s of %s does not export %s", f.Name, model, name)
				}
			}
		}
	}
	if modules < 1400 {
		t.Errorf("only %d modules are written", modules)
	}
}

func TestEveryRecipeGetsASkill(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	once := everything(t)
	for model, files := range once {
		for _, f := range files {
			if other, had := names[f.Name]; had {
				t.Errorf("%s and %s would both be written to %s", model, other, f.Name)
			}
			names[f.Name] = model
			if stamp, edited, ok := generate.Origin(f.Text); !ok || edited || stamp.Model != model {
				t.Errorf("the stamp of %s is %+v (edited %v, found %v)", f.Name, stamp, edited, ok)
			}
		}
	}
	for model, files := range all(t) {
		if !slices.Equal(files, once[model]) {
			t.Errorf("the skill of %s is not the same twice", model)
		}
	}
}

// TestPlatformsBringTheirPieces asks for few platforms and finds no others.
func TestPlatformsBringTheirPieces(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, _ := c.Get("bert")
	for _, tc := range []struct {
		on         []platform.Name
		with, less []string
	}{
		{[]platform.Name{platform.CUDA}, []string{`"cuda": ("cuda"`, `"cpu": ("cpu"`, `"cuda": ["cpu"]`}, []string{"class Graph", "_browser", "openvino"}},
		{[]platform.Name{platform.OpenVINO}, []string{"class Graph", `GRAPHS = {"openvino": _openvino}`}, []string{"_qnn", "_browser", "rocm"}},
		{[]platform.Name{platform.WebGPU}, []string{"_browser", `"webgpu": ["cpu"]`}, []string{"class Graph", "webnn"}},
		{platform.Names(), []string{`"webgpu": ["webnn", "cpu"]`, `PREFERENCE = ["cuda", "rocm", "mps", "openvino", "cpu"]`}, nil},
	} {
		files, err := Files(c, catalog.Choice{Entry: e}, tc.on)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tc.with {
			if !strings.Contains(files[0].Text, s) {
				t.Errorf("on %v the skill lacks %q", tc.on, s)
			}
		}
		for _, s := range tc.less {
			if strings.Contains(files[0].Text, s) {
				t.Errorf("on %v the skill has %q", tc.on, s)
			}
		}
	}
}

func TestNaturalForms(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]struct {
		natural []string
		piece   string
		grows   string
	}{
		"bert":     {[]string{text}, "words", ""},
		"llama":    {[]string{text}, "", "input_ids"},
		"t5":       {[]string{text}, "", "decoder_input_ids"},
		"vit":      {[]string{image}, "labels", ""},
		"detr":     {[]string{image}, "boxes", ""},
		"clip":     {[]string{text, image}, "similarity", ""},
		"llava":    {[]string{text, image}, "", "input_ids"},
		"whisper":  {[]string{audio}, "", "decoder_input_ids"},
		"videomae": {[]string{video}, "labels", ""},
		"timesfm":  {nil, "arrays", ""},
	} {
		e, ok := c.Get(model)
		if !ok {
			t.Fatalf("the catalogue lacks %s", model)
		}
		s, err := plan(c, catalog.Choice{Entry: e}, platform.Names())
		if err != nil || !slices.Equal(s.natural, want.natural) || s.Piece != want.piece || s.Grows != want.grows {
			t.Errorf("%s takes %v, answers by %q, grows %q, %v; want %+v", model, s.natural, s.Piece, s.Grows, err, want)
		}
	}
}
