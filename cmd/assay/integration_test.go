//go:build integration

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/instructions"

	"github.com/google/go-cmp/cmp"
)

// torchPython is the interpreter that has torch: ASSAY_TEST_PYTHON, else that
// of the user's managed environment.
var torchPython = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("ASSAY_TEST_PYTHON"); path != "" {
		return path, nil
	}
	out, err := exec.Command("assay", "setup", "--no-setup", "--json").Output()
	if err != nil {
		return "", err
	}
	var env struct{ Python string }
	err = json.Unmarshal(out, &env)
	return env.Python, err
})

// withTorch is a program with folders of its own and a Python with torch.
func withTorch(t *testing.T) (*program, string) {
	t.Helper()
	path, err := torchPython()
	if err != nil {
		t.Fatalf("there is no environment with torch (make setup, or set ASSAY_TEST_PYTHON): %v", err)
	}
	p := newProgram(t)
	p.globals = []string{"--python", path}
	// Its own folder, with a short name for what makes sockets in it and gone with
	// all of these tests: the lock in it makes one program wait for another that
	// times, which TestHush shows and would have these tests stand in line.
	started, err := exec.LookPath("assay")
	if err != nil {
		t.Fatal(err)
	}
	if p.vars["TMPDIR"], err = os.MkdirTemp(filepath.Dir(started), "t"); err != nil {
		t.Fatal(err)
	}
	remember(t, p.vars["ASSAY_HOME"])
	shareCaches(t, p.vars["ASSAY_HOME"], filepath.Dir(started))
	t.Cleanup(func() { checkNoneLeft(t, p) })
	return p, path
}

// shareCaches gives a program the caches of the others of these tests, as one
// user's programs share theirs: what a model was exported to, what engines
// answered, the runner's sources.
func shareCaches(t *testing.T, home, in string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"detect", "exports", "runner"} {
		shared := filepath.Join(in, "shared-"+name)
		if err := errors.Join(os.MkdirAll(shared, 0o700), os.Symlink(shared, filepath.Join(home, "cache", name))); err != nil {
			t.Fatal(err)
		}
	}
}

// ownCache gives a program one of the caches for itself: for tests of the cache,
// and for those that damage it.
func ownCache(t *testing.T, p *program, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(p.vars["ASSAY_HOME"], "cache", name)); err != nil {
		t.Fatal(err)
	}
}

// tried is what was found of this processor's instruction sets, by file: the
// programs of these tests have folders of their own, and each would ask again.
var tried = sync.OnceValues(func() (fs.FS, error) {
	path, err := torchPython()
	if err != nil || !instructions.Read("/proc/cpuinfo").Announces() {
		return nil, err
	}
	started, err := exec.LookPath("assay")
	if err != nil {
		return nil, err
	}
	home := filepath.Join(filepath.Dir(started), "tried")
	cmd := exec.Command("assay", "--python", path, "doctor", "cpu")
	cmd.Env = append(os.Environ(), "ASSAY_HOME="+home)
	_ = cmd.Run() // the doctor may find something else to complain of
	return os.DirFS(filepath.Join(home, "cache", "instructions")), nil
})

// remember gives a program what is known about this processor.
func remember(t *testing.T, home string) {
	t.Helper()
	known, err := tried()
	if err != nil {
		t.Fatal(err)
	}
	if known != nil {
		if err := os.CopyFS(filepath.Join(home, "cache", "instructions"), known); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// checkWorks wants a result that is proven: the output right against a
// reference, and a control that shows the check can fail.
func checkWorks(t *testing.T, r cell.Result) {
	t.Helper()
	name := r.Cell.Model() + " " + string(r.Cell.DType)
	if r.Cell.Family == "" || r.Cell.Class == "" {
		t.Errorf("%s: no family or class: %+v", name, r.Cell)
	}
	if r.Verdict != cell.Works || r.Evidence != cell.Measured {
		t.Errorf("%s: %s, %s: %s %+v", name, r.Verdict, r.Evidence, r.Note, r.Failure)
		return
	}
	n := r.Numerics
	switch {
	case n == nil || !n.Pass || n.MaxRel == nil || *n.MaxRel > n.Tolerance || n.Reference == "":
		t.Errorf("%s: its output was not checked: %+v", name, n)
	case r.Cell.Size == cell.Tiny && (n.Control == nil || !n.Control.Pass || n.Control.Change == nil || *n.Control.Change < 10*n.Tolerance):
		t.Errorf("%s: the check was not seen to fail: %+v", name, n.Control)
	case r.SubjectHash == "" || r.Parameters == 0:
		t.Errorf("%s: no hash or parameters: %+v", name, r)
	case r.Cell.Mode == cell.Train: // what comes out are losses and gradients
		if r.Training == nil || len(r.Training.Losses) == 0 || r.Training.Gradients == nil {
			t.Errorf("%s: no losses or gradients: %+v", name, r.Training)
		}
	case n.OutputHash == "" || len(r.Outputs) == 0:
		t.Errorf("%s: no hash or outputs: %+v", name, r)
	case r.Placement == nil || r.Placement.Device != string(r.Cell.Platform) && r.Placement.Device != r.Cell.Device:
		t.Errorf("%s: it was not seen to run on %s: %+v", name, r.Cell.Platform, r.Placement)
	case !r.Cell.Engine.Traits().Pages && (r.Memory == nil || r.Memory.HostPeakBytes == nil || *r.Memory.HostPeakBytes == 0):
		t.Errorf("%s: its memory is unknown: %+v", name, r.Memory)
	case r.Latency != nil && r.Timing == cell.Functional:
		t.Errorf("%s: test shows a latency", name)
	}
}

// TestIntegrationModels: every key model works here. The representatives are
// run by the examples.
func TestIntegrationModels(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	checkAll(t, p.report(t, exitOK, "test", "--key", "--platform", "cpu").Results, catalog.Selector{Key: true})
}

// checkAll wants a result that works for every type that is chosen.
func checkAll(t *testing.T, results []cell.Result, s catalog.Selector) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	choices, err := cat.Select(s)
	if err != nil || len(choices) < 13 {
		t.Fatalf("%d models, %v", len(choices), err)
	}
	seen := map[string]bool{}
	for _, res := range results {
		checkWorks(t, res)
		seen[res.Cell.Type] = true
	}
	for _, c := range choices {
		if !seen[c.Entry.Type] {
			t.Errorf("there is no result of %s", c.Entry.Type)
		}
	}
}

// TestIntegrationSettings: batches, dtypes and lengths, twice: the same cell
// gives the same bits.
func TestIntegrationSettings(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	plan := p.write(t, "plan.json", cell.Plan{Cells: []cell.Cell{
		{Type: "bert"}, {Type: "bert", Batch: 2}, {Type: "bert", Batch: 3}, {Type: "bert", Seq: 24}, {Type: "bert", Seed: 7},
		{Type: "bert", DType: "bf16"}, {Type: "bert", DType: "bf16", Batch: 2}, {Type: "vit"}, {Type: "vit", DType: "bf16"},
	}})
	type bits struct{ Output, Subject string }
	seen := func(r cell.Report) map[string]bits {
		out := map[string]bits{}
		for _, res := range r.Results {
			checkWorks(t, res)
			if want := []int{res.Cell.Batch}; len(res.Outputs) > 0 && !cmp.Equal(res.Outputs[0].Shape[:1], want) {
				t.Errorf("batch %d gave the shape %v", res.Cell.Batch, res.Outputs[0].Shape)
			}
			if res.Numerics != nil {
				out[res.Cell.Hash] = bits{res.Numerics.OutputHash, res.SubjectHash}
			}
		}
		return out
	}
	first := seen(p.report(t, exitOK, "test", "--plan", plan))
	if len(first) != 9 {
		t.Fatalf("%d different cells, want 9", len(first))
	}
	if diff := cmp.Diff(first, seen(p.report(t, exitOK, "test", "--plan", plan))); diff != "" {
		t.Errorf("the same cells gave other bits (-first +second):\n%s", diff)
	}
	outputs := map[string]bool{}
	for _, b := range first {
		outputs[b.Output] = true
	}
	if len(outputs) != len(first) {
		t.Errorf("%d different outputs of %d different cells", len(outputs), len(first))
	}
}

// TestIntegrationBench: three repeats, and percentiles by the number of samples.
func TestIntegrationBench(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	r := p.report(t, exitOK, "bench", "--quick", "bert", "--batch", "1,4", "--platform", "cpu")
	if len(r.Results) != 2 {
		t.Fatalf("%d results, want 2", len(r.Results))
	}
	for _, res := range r.Results {
		checkWorks(t, res)
		if res.Latency == nil || res.Throughput == nil {
			t.Fatalf("batch %d was not timed: %s", res.Cell.Batch, res.Note)
		}
		checkLatency(t, res)
	}
	text := p.ok(t, "query", "--json", "--sql", "select inference_time, memory_usage, load_time from hardware_results")
	var rows struct {
		Rows []struct {
			Inference *float64 `json:"inference_time"`
			Memory    *float64 `json:"memory_usage"`
			Load      *float64 `json:"load_time"`
		}
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows.Rows) != 2 {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, row := range rows.Rows {
		if row.Inference == nil || row.Memory == nil || row.Load == nil || *row.Inference <= 0 {
			t.Errorf("a timed row has gaps: %s", text)
		}
	}
}

func checkLatency(t *testing.T, res cell.Result) {
	t.Helper()
	l := res.Latency
	n := 0
	for _, repeat := range l.SamplesMS {
		n += len(repeat)
	}
	if l.Repeats != 3 || len(l.SamplesMS) != 3 || l.N != n || n < 30 {
		t.Errorf("%d repeats, n %d, %d samples in %d lists", l.Repeats, l.N, n, len(l.SamplesMS))
	}
	if l.LoMS != nil || l.HiMS != nil {
		t.Error("three repeats give no interval")
	}
	if l.MedianMS <= 0 || l.MedianMS < l.MinMS || l.MedianMS > l.MaxMS {
		t.Errorf("median %g between %g and %g", l.MedianMS, l.MinMS, l.MaxMS)
	}
	for _, row := range []struct {
		name  string
		value *float64
		least int
	}{{"p90", l.P90MS, 64}, {"p95", l.P95MS, 130}, {"p99", l.P99MS, 662}} {
		if (row.value != nil) != (n >= row.least) {
			t.Errorf("%s of %d samples is %v", row.name, n, row.value)
		}
	}
	if want := float64(res.Cell.Batch) / l.MedianMS * 1000; res.Throughput.Value < 0.999*want || res.Throughput.Value > 1.001*want {
		t.Errorf("throughput %g, want %g", res.Throughput.Value, want)
	}
	if res.HarnessCPUFraction == nil {
		t.Error("what the harness used is unknown")
	}
}

// TestIntegrationFallback: without a GPU, two linked results; with --strict
// one, and status 4.
func TestIntegrationFallback(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	if strings.Contains(p.ok(t, "detect", "--platform", "cuda", "--json"), `"status": "present"`) {
		t.Skip("this machine has a GPU")
	}
	r := p.report(t, exitOK, "test", "bert", "--platform", "cuda")
	if len(r.Results) != 2 {
		t.Fatalf("%d results, want the asked one and the other", len(r.Results))
	}
	asked, other := r.Results[0], r.Results[1]
	if asked.Verdict != cell.Unavailable || asked.Evidence != cell.None || asked.Actual != nil || asked.Fallback == nil || asked.Fallback.To != "openvino" || asked.Fallback.Reason == "" {
		t.Errorf("the asked target's result: %+v", asked)
	}
	if other.Fallback == nil || other.Fallback.From != "cuda" || other.Requested.Target != "cuda" || other.Actual == nil || other.Actual.Target != "openvino" {
		t.Errorf("the other target's result: %+v", other)
	}
	checkWorks(t, other)
	r = p.report(t, exitUnavailable, "test", "bert", "--platform", "cuda", "--strict")
	if len(r.Results) != 1 || r.Results[0].Verdict != cell.Unavailable || r.Results[0].Fallback != nil {
		t.Errorf("with --strict: %+v", r.Results)
	}
	if text := p.ok(t, "query", "--json", "--sql", "select hardware from hardware_results where success"); !strings.Contains(text, `"openvino"`) || strings.Contains(text, `"cuda"`) {
		t.Errorf("the result is filed under a platform other than the one it ran on: %s", text)
	}
}

const (
	smallConfig = `{"model_type":"bert","vocab_size":300,"hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":64,"max_position_embeddings":64}`
	// 2.6 × 10¹² parameters: ten terabytes.
	hugeConfig = `{"model_type":"bert","vocab_size":30522,"hidden_size":65536,"num_hidden_layers":50,"num_attention_heads":64,"intermediate_size":262144}`
	savedModel = `import sys
from transformers import BertConfig, BertForMaskedLM
BertForMaskedLM(BertConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)).save_pretrained(sys.argv[1])`
)

// TestIntegrationFolders: a configuration alone gets random weights, one with
// weights beside it uses those, and one of ten terabytes fails before loading.
func TestIntegrationFolders(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	for name, config := range map[string]string{"small": smallConfig, "huge": hugeConfig} {
		dir := filepath.Join(p.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	saved := filepath.Join(p.dir, "saved")
	if out, err := exec.CommandContext(t.Context(), python, "-c", savedModel, saved).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	began := time.Now()
	r := p.report(t, exitFails, "test", "./small", "./huge", "./saved", "--platform", "cpu")
	took := time.Since(began)
	byFolder := map[string]cell.Result{}
	for _, res := range r.Results {
		byFolder[filepath.Base(filepath.Dir(res.Cell.Checkpoint))] = res
	}
	if len(byFolder) != 3 {
		t.Fatalf("%d results, want 3", len(r.Results))
	}
	small, huge, own := byFolder["small"], byFolder["huge"], byFolder["saved"]
	checkWorks(t, small)
	checkWorks(t, own)
	if small.Cell.Weights != cell.Random || own.Cell.Weights != saved || small.SubjectHash == own.SubjectHash {
		t.Errorf("weights %q and %q of subjects %s and %s", small.Cell.Weights, own.Cell.Weights, small.SubjectHash, own.SubjectHash)
	}
	if huge.Verdict != cell.Fails || huge.Failure == nil || huge.Failure.Class != cell.OutOfMemory || huge.Actual != nil || huge.Memory != nil {
		t.Errorf("ten terabytes: %s %+v", huge.Verdict, huge.Failure)
	}
	if took > 2*time.Minute {
		t.Errorf("it took %s: the large one was not refused before loading", took)
	}
}

// TestIntegrationManaged: the managed environment itself, without --python.
func TestIntegrationManaged(t *testing.T) {
	t.Parallel()
	if os.Getenv("ASSAY_TEST_PYTHON") != "" {
		t.Skip("ASSAY_TEST_PYTHON names another")
	}
	cmd := exec.CommandContext(t.Context(), "assay", "--db", filepath.Join(t.TempDir(), "assay.duckdb"), "test", "bert", "--platform", "cpu", "--json", "--no-setup")
	stdout, stderr, status := finish(t, cmd)
	var r cell.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != exitOK || len(r.Results) != 1 {
		t.Fatalf("status %d, %v\n%s%s", status, err, stdout, stderr)
	}
	checkWorks(t, r.Results[0])
	if v := r.Results[0].Context.Versions; v["torch"] == "" || v["transformers"] == "" {
		t.Errorf("the versions %v", v)
	}
}
