package mentions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"assay/internal/catalog"
	"assay/runtimes/web"

	"github.com/google/go-cmp/cmp"
)

// in is a project of these files.
func in(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func find(t *testing.T, files map[string]string) (said, untold []string) {
	t.Helper()
	f, err := Find(t.Context(), in(files))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.Mentions {
		said = append(said, fmt.Sprintf("%s %s", m.Place(), m.Name))
	}
	for _, m := range f.Untold {
		untold = append(untold, fmt.Sprintf("%s %s", m.Place(), m.Name))
	}
	return said, untold
}

func TestPython(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		source string
		want   string // a mention in each line, its line before it
		untold string
	}{
		"plain":                {`m = AutoModel.from_pretrained("a/b")`, "1 a/b", ""},
		"without an owner":     {`m = BertModel.from_pretrained('gpt2')`, "1 gpt2", ""},
		"by keyword":           {"m = AutoModel.from_pretrained(\n  pretrained_model_name_or_path='a/b',\n  device_map='auto')", "1 a/b\n2 a/b", ""},
		"a module before":      {`m = transformers.AutoModelForCausalLM.from_pretrained("a/b", revision="x")`, "1 a/b", ""},
		"a tokenizer":          {`t = AutoTokenizer.from_pretrained("a/b"); p = AutoProcessor.from_pretrained("a/c")`, "", ""},
		"a comment":            {"# AutoModel.from_pretrained('a/b')\n'''\nAutoModel.from_pretrained('a/b')\n'''\n", "", ""},
		"a constant":           {"NAME = \"a/b\"\ndef f():\n    return AutoModel.from_pretrained(NAME)", "3 a/b", ""},
		"through another name": {"A = 'a/b'\nB = A\nAutoModel.from_pretrained(B)", "3 a/b", ""},
		"an attribute":         {"class C:\n    def __init__(self, model_name: str = 'a/b'):\n        self.model_name = model_name\n    def f(self):\n        AutoModel.from_pretrained(self.model_name)", "2 a/b\n3 a/b\n5 a/b", ""},
		"of parts":             {"AutoModel.from_pretrained('a/' + 'b')\nOWNER='x'\nAutoModel.from_pretrained(f\"{OWNER}/y\")\nAutoModel.from_pretrained('a/' 'c')", "1 a/b\n4 a/c\n3 x/y", ""},
		"a loop":               {"for m in ['a/b', 'c/d']:\n    AutoModel.from_pretrained(m)", "2 a/b\n2 c/d", ""},
		"a list and a loop":    {"ALL = {'x': 'a/b', 'y': 'c/d'}\nfor m in ALL:\n    AutoModel.from_pretrained(m)", "3 a/b\n3 c/d", ""},
		"a choice":             {"n = 'a/b' if big else 'a/c'\nAutoModel.from_pretrained(n)", "2 a/b\n2 a/c", ""},
		"a variable":           {"n = os.environ.get('X', 'a/b')\nAutoModel.from_pretrained(n)", "2 a/b", ""},
		"a variable alone":     {"AutoModel.from_pretrained(os.environ['X'])", "", `1 os.environ["X"]`},
		"an option":            {"p.add_argument('--model-name', '-m', default='a/b')\nAutoModel.from_pretrained(args.model_name)", "2 a/b", ""},
		"not told":             {"AutoModel.from_pretrained(args.model)\nAutoModel.from_pretrained(f'{x}/y')", "", "2 \"{x}/y\"\n1 args.model"},
		"another's argument":   {"f(thing='a/b')\nAutoModel.from_pretrained(thing)", "", "2 thing"},
		"a path":               {"AutoModel.from_pretrained('./out')\nAutoModel.from_pretrained('/models/x')\nAutoModel.from_pretrained(\"C:\\\\x\")", "", "3 \"C:\\\\\\\\x\"\n1 ./out\n2 /models/x"},
		"a pipeline":           {`p = pipeline("fill-mask", model="a/b")`, "1 a/b", ""},
		"by place":             {`p = transformers.pipeline("fill-mask", "a/b")`, "1 a/b", ""},
		"its default":          {`p = pipeline("sentiment-analysis")` + "\n" + `pipeline(task="fill-mask", device=0)`, "1 distilbert/distilbert-base-uncased-finetuned-sst-2-english\n2 distilbert/distilroberta-base", ""},
		"a former task":        {"pipeline('translation_en_to_fr')\npipeline('summarization', model='a/b')", "2 a/b", `1 pipeline("translation_en_to_fr")`},
		"a task not told":      {"from transformers import pipeline\npipeline(args.task)\npipeline('no-such-task')", "", "2 pipeline(args.task)"},
		"a loaded model":       {`p = pipeline("fill-mask", model=model, tokenizer=t)`, "", ""},
		"other pipelines":      {"redis.pipeline()\npipeline(x)\nmake_pipeline('fill-mask')\npipeline('no-such-task')", "", ""},
		"sentences":            {`SentenceTransformer("all-MiniLM-L6-v2")`, "1 all-MiniLM-L6-v2", ""},
		"a call's keyword":     {`llm = LLM(model="a/b", x=1)`, "1 a/b", ""},
		"no model's name":      {`x = Agent(model="gpt-4o", url="a/b"); open("a/b")`, "", ""},
		"a data set":           {`snapshot_download("a/b", repo_type="dataset"); snapshot_download(repo_id="a/c")`, "1 a/c", ""},
		"no end":               {"AutoModel.from_pretrained('a/b", "", "1 \"a/b\""},
		"nothing":              {"from_pretrained()\nAutoModel.from_pretrained()\n(((", "", ""},
	} {
		said, untold := find(t, map[string]string{"x.py": x.source})
		strip := func(list []string) string { return strings.ReplaceAll(strings.Join(list, "\n"), "x.py:", "") }
		if diff := cmp.Diff([]string{x.want, x.untold}, []string{strip(said), strip(untold)}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What stands before a model on its line hides it no more than what stands elsewhere: a slash may begin a
// regular expression, with quotes and brackets in it, or divide.
func TestScript(t *testing.T) {
	t.Parallel()
	const load = "pipeline('fill-mask', 'a/b')"
	for name, before := range map[string]string{
		"a quote in a pattern":        `s = s.replace(/'/g, "").match(/"/); `,
		"a template's in a pattern":   "s.split(/`/i); ",
		"slashes in a pattern":        `if (/^https?:\/\//.test(url)) `,
		"a comment's start":           `x = /[/*]/; `,
		"a class in a pattern":        `x = [/[/'"]/, /\//]; `,
		"brackets in a pattern":       `f(/[(]\(/, `,
		"after a word":                `return /'/.test(s) || `,
		"after a condition":           `if (x) /'/.test(s) && `,
		"after a block":               `function f() {} /'/.test(s); `,
		"division":                    `const r = a / 2 + (b) / c[0] / 'x'.length; `,
		"division after a step":       `r = i++ / 'ab'.length + 1 / 2; `,
		"a tag":                       `<p>{a}</p><br/><X y={1}/><b title="'">x</b>; `,
		"a pattern in a text":         `x = "/'"; `,
		"a text in a template's part": "x = `it's ${a ? `'` : \"`\"} 'one`; ",
		"no end":                      `x = a < b / c; `,
	} {
		if said, _ := find(t, map[string]string{"x.tsx": before + load}); len(said) != 1 || said[0] != "x.tsx:1 a/b" {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said, _ := find(t, map[string]string{"x.js": "x = /pipeline('fill-mask', 'a\\/b')/; // " + load + "\n/* " + load + " */"}); len(said) != 0 {
		t.Errorf("patterns and comments: %q", said)
	}
	inside := "x = `first\n${await " + load + "} then ${`${" + load + "}`}`"
	if said, _ := find(t, map[string]string{"x.js": inside}); len(said) != 1 || said[0] != "x.js:2 a/b" {
		t.Errorf("in a template: %q", said)
	}
	find(t, map[string]string{"x.js": strings.Repeat("`${", maxBytes/12), "y.js": strings.Repeat("=/[", maxBytes/12)})
}

const notebook = `{
 "cells": [
  {"cell_type": "markdown", "source": ["AutoModel.from_pretrained('no/no')\n"]},
  {
   "cell_type": "code",
   "source": [
    "NAME = 'a/b'\n",
    "%matplotlib inline\n"
   ]
  },
  {
   "cell_type": "code",
   "source": [
    "x = 1\n",
    "m = AutoModel.from_pretrained(NAME)"
   ]
  },
  {"cell_type": "code", "source": "AutoModel.from_pretrained('c/d')"}
 ]
}`

func TestFiles(t *testing.T) {
	t.Parallel()
	said, untold := find(t, map[string]string{
		"nb.ipynb":          notebook,
		"broken.ipynb":      "{",
		"app.ts":            "import { pipeline } from '@huggingface/transformers'; // pipeline('x', 'no/no')\nconst MODEL = `a/js`;\nconst p = await pipeline('fill-mask', MODEL);\nconst q = await pipeline('fill-mask');\nawait pipeline('asr', null, {device: 'webgpu'}); await pipeline(task);\nconst c = { model: 'a/object' };\n",
		"conf/a.yaml":       "# model: no/no\nmodel_id: a/yaml  # the one\nimage: no/no\nmodels:\n  - a/item1\n  - \"a/item2\"\nothers:\n  - no/no\nurl: https://x/y\nmodel_path: out/model.bin\n",
		"conf/b.json":       `{"base_model": "a/json", "dataset": "no/no", "train": {"model_name_or_path": "a/nested"}}`,
		"pyproject.toml":    "[tool.x]\nembedding-model = \"a/toml\"\n",
		"run.sh":            "# --model no/no\npython x.py --model a/flag --data no/no\nvllm serve a/serve --port 1\nexport MODEL_ID=a/var\n",
		"Dockerfile":        "FROM no/no\nENV HF_MODEL=a/docker\nRUN huggingface-cli download a/cli\n",
		"mine/config.json":  `{"model_type": "bert"}`,
		"load.py":           "AutoModel.from_pretrained('./mine')\nAutoModel.from_pretrained('mine/')",
		"other/config.json": `{"model": "a/other"}`,
		"README.md":         "AutoModel.from_pretrained('no/no')",
	})
	want := []string{"run.sh:2 a/flag", "run.sh:3 a/serve", "run.sh:4 a/var", "Dockerfile:2 a/docker", "Dockerfile:3 a/cli", "app.ts:3 a/js", "app.ts:2 a/js", "app.ts:4 onnx-community/ettin-encoder-32m-ONNX", "app.ts:5 Xenova/whisper-tiny.en", "app.ts:6 a/object",
		"conf/a.yaml:2 a/yaml", "conf/a.yaml:5 a/item1", "conf/a.yaml:6 a/item2", "conf/b.json:1 a/json", "conf/b.json:1 a/nested", "pyproject.toml:2 a/toml",
		"nb.ipynb:15 a/b", "nb.ipynb:18 c/d", "mine/config.json:1 mine/config.json", "load.py:1 mine", "load.py:2 mine", "other/config.json:1 a/other"}
	has := map[string]bool{}
	for _, s := range said {
		has[s] = true
	}
	for _, w := range want {
		if !has[w] {
			t.Errorf("no %s", w)
		}
	}
	if len(said) != len(want) || len(untold) != 1 || untold[0] != "app.ts:5 pipeline(task)" {
		t.Errorf("%d mentions, want %d, untold %q: %s", len(said), len(want), untold, strings.Join(said, "\n"))
	}
}

// The types of defaults are the catalogue's.
func TestDefaults(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(pythonStandards.models)
	for task, d := range scriptStandards.models {
		all["transformers.js: "+task] = d
	}
	for task, d := range all {
		if _, ok := cat.Get(d.Type); !ok && d.Type != "" || !hubName.MatchString(d.Name) {
			t.Errorf("%s: %+v", task, d)
		}
		if r, err := cat.Resolve(d.Name); err == nil && r.Entry.Type != d.Type {
			t.Errorf("%s is a %s here and a %s in the catalogue", d.Name, d.Type, r.Entry.Type)
		}
	}
}

// The releases whose defaults these are, are those that Assay installs.
func TestReleases(t *testing.T) {
	t.Parallel()
	var list struct{ Dependencies map[string]string }
	text, err := fs.ReadFile(web.Packages(), "package.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || list.Dependencies["@huggingface/transformers"] != scriptStandards.release {
		t.Errorf("transformers.js %s is installed, %v: take its defaults over", list.Dependencies["@huggingface/transformers"], err)
	}
	lock, err := os.ReadFile(filepath.Join("..", "..", "runtimes", "python", "requirements.lock"))
	if err != nil || !strings.Contains(string(lock), "\ntransformers=="+pythonStandards.release+" ") {
		t.Errorf("%v: another release of transformers is installed: take its defaults over", err)
	}
}

// Other people's code is not the project's, and no search is without an end.
func TestBounds(t *testing.T) {
	t.Parallel()
	load := `AutoModel.from_pretrained("a/b")`
	files := map[string]string{"src/large.py": load + strings.Repeat(" ", maxBytes)}
	for _, dir := range []string{"node_modules/x", ".venv/lib", "vendor", "a/site-packages/b", "build", ".git", "mine"} {
		files[dir+"/x.py"] = load
	}
	files["mine/pyvenv.cfg"] = ""
	f, err := Find(t.Context(), in(files))
	if err != nil || len(f.Mentions) != 0 || f.Files != 0 || len(f.Skipped) != 1 || f.Skipped[0] != "src/large.py" {
		t.Errorf("%+v, %v", f, err)
	}
	many := strings.Repeat(load+"\n", 3*maxMentions)
	if f, err := Find(t.Context(), in(map[string]string{"a.py": many, "b.py": many})); err != nil || !f.More {
		t.Errorf("%d, %v, %v", len(f.Mentions), f.More, err)
	}
	deep := strings.Repeat("(", maxBytes/8) + "AutoModel.from_pretrained("
	if _, err := Find(t.Context(), in(map[string]string{"a.py": deep, "b.js": strings.Repeat("a=[", maxBytes/24), "c.py": strings.Repeat("a=(", maxBytes/24), "d.py": strings.Repeat("f(", maxBytes/24), "e.py": strings.Repeat("model='a'+", maxBytes/80)})); err != nil {
		t.Error(err)
	}
}

// Whoever asks may leave.
func TestStopped(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if f, err := Find(ctx, in(map[string]string{"a.py": "AutoModel.from_pretrained('a/b')"})); !errors.Is(err, stopped) || f.Files != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{`for m in ["a/b"]: AutoModel.from_pretrained(m)`, "pipeline('fill-mask', model=f'{A}/b')", notebook, `{"model": "a/b"}`, "x = '''", "a.b.=", "model: [a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		found, err := Find(t.Context(), in(map[string]string{"a.py": source, "b.ipynb": source, "c.ts": source, "d.yaml": source, "e.sh": source, "config.json": source}))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found.Mentions {
			if m.Line < 1 || m.Line > strings.Count(source, "\n")+1 || m.File == "" || m.How == "" || !m.Local && !hubName.MatchString(m.Name) && !bareName.MatchString(strings.TrimSuffix(m.Name, "/")) {
				t.Errorf("%+v", m)
			}
		}
	})
}
