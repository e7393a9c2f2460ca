package lab

import (
	"context"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// everyCPU is a machine with a CPU that OpenVINO drives too.
type everyCPU struct{ bench }

func (m everyCPU) Presence(t platform.Target) Presence {
	if t.Platform == platform.OpenVINO {
		return Presence{Present: true, Threads: 2, DTypes: []platform.DType{platform.FP32, platform.BF16}}
	}
	return m.bench.Presence(t)
}

// TestTheChainIsWalked: an absent GPU leads to OpenVINO, and a model that
// cannot be exported for it to the CPU; each result is its target's own.
func TestTheChainIsWalked(t *testing.T) {
	t.Parallel()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Cell.Platform == platform.OpenVINO {
			return raise(nil, "assay_runner.errors.ExportFailed", "no exporter can")(n, job, on)
		}
		return good(n, job, on)
	}}
	rs, _, err := carry(t, s, everyCPU{}, cells(cell.Cell{Type: "x", Platform: platform.CUDA}))
	if err != nil || len(rs) != 3 {
		t.Fatalf("%d results, %v: %+v", len(rs), err, rs)
	}
	asked, between, ran := rs[0], rs[1], rs[2]
	if asked.Verdict != cell.Unavailable || asked.Fallback.To != "openvino" {
		t.Errorf("the asked target's result: %+v", asked)
	}
	if between.Verdict != cell.Fails || between.Failure.Class != cell.Export || between.Fallback.From != "cuda" || between.Fallback.To != "cpu" {
		t.Errorf("the first fallback's result: %+v, %+v", between, between.Fallback)
	}
	if ran.Verdict != cell.Works || ran.Cell.Platform != platform.CPU || ran.Fallback.From != "cuda" {
		t.Errorf("the second fallback's result: %+v", ran)
	}
}

// TestTheChainEnds: a model that fails on the last platform is not tried
// again, and a plan without fallbacks has none.
func TestTheChainEnds(t *testing.T) {
	t.Parallel()
	fails := &script{do: raise(nil, "assay_runner.errors.ExportFailed", "no exporter can")}
	rs, _, err := carry(t, fails, everyCPU{}, cells(cell.Cell{Type: "x", Platform: platform.OpenVINO}))
	if err != nil || len(rs) != 2 || rs[1].Fallback.To != "" {
		t.Errorf("%d results, %v: %+v", len(rs), err, rs)
	}
	plan := cells(cell.Cell{Type: "x", Platform: platform.CUDA})
	plan.NoFallback = true
	if rs, _, err = carry(t, &script{do: good}, everyCPU{}, plan); err != nil || len(rs) != 1 {
		t.Errorf("%d results without fallbacks, %v", len(rs), err)
	}
}

// TestADefaultDTypeStaysBehind: fp16 is QNN's own default, and not the CPU's.
func TestADefaultDTypeStaysBehind(t *testing.T) {
	t.Parallel()
	for asked, want := range map[platform.DType]platform.DType{"": platform.FP32, platform.FP16: platform.FP32, platform.INT8: ""} {
		rs, _, err := carry(t, &script{do: good}, bench{}, cells(cell.Cell{Type: "x", Platform: platform.QNN, DType: asked}))
		if err != nil || want != "" && (len(rs) != 2 || rs[1].Cell.DType != want) || want == "" && len(rs) != 1 {
			t.Errorf("asked for %q: %d results, %v: %+v", asked, len(rs), err, rs)
		}
	}
}

// TestAFallbackHasTheDType: a device that does not compute in the asked dtype
// is not a fallback.
func TestAFallbackHasTheDType(t *testing.T) {
	t.Parallel()
	for dtype, want := range map[platform.DType]string{platform.FP16: "cpu", platform.BF16: "openvino"} {
		rs, _, err := carry(t, &script{do: good}, everyCPU{}, cells(cell.Cell{Type: "x", Platform: platform.CUDA, DType: dtype}))
		if err != nil || len(rs) != 2 || rs[0].Fallback.To != want {
			t.Errorf("%s: %v, %+v", dtype, err, rs)
		}
	}
}

// TestAFallbackHasTheMode: an engine that does not do what was asked for does
// not stand for one that does.
func TestAFallbackHasTheMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{cell.Infer: "openvino", cell.Generate: "openvino", cell.Train: "cpu", cell.Pipeline: "cpu"} {
		rs, _, err := carry(t, &script{do: good}, everyCPU{}, cells(cell.Cell{Type: "x", Platform: platform.CUDA, Mode: mode}))
		if err != nil || len(rs) != 2 || rs[0].Fallback.To != want || rs[1].Cell.Mode != mode {
			t.Errorf("%s: %v, %+v", mode, err, rs)
		}
	}
}

// browsers is a machine with two browsers, of which one has WebNN.
type browsers struct{ bench }

func (m browsers) Presence(t platform.Target) Presence {
	switch {
	case t.Platform == platform.WebGPU, t.Platform == platform.WebNN && t.Browser != "":
		return Presence{Reason: "no browser has it"}
	case t.Platform == platform.WebNN:
		return Presence{Present: true}
	case t.Engine == platform.Wasm:
		return Presence{Present: t.Browser == "" || t.Browser == "firefox"}
	}
	return m.bench.Presence(t)
}

// TestAHalfThatIsNotThereIsWide: WebAssembly has no half precision; a cell that
// comes there with it runs in fp32, and says what was asked for.
func TestAHalfThatIsNotThereIsWide(t *testing.T) {
	t.Parallel()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Cell.Platform == platform.WebNN {
			return raise(nil, "assay_runner.errors.UnsupportedDType", "it has no float16")(n, job, on)
		}
		return good(n, job, on)
	}}
	for asked, want := range map[platform.DType]platform.DType{platform.FP16: platform.FP32, platform.W4: platform.W4} {
		rs, _, err := carry(t, s, browsers{}, cells(cell.Cell{Type: "x", Platform: platform.WebGPU, DType: asked}))
		if err != nil || len(rs) != 3 {
			t.Fatalf("%s: %d results, %v", asked, len(rs), err)
		}
		if r := rs[2]; r.Cell.Target != "cpu/wasm" || r.Cell.DType != want || r.Requested.DType != string(asked) || r.Actual.DType != string(want) {
			t.Errorf("asked for %s: %s in %s, requested %+v, actual %+v", asked, r.Cell.Target, r.Cell.DType, r.Requested, r.Actual)
		}
	}
}

// TestABrowsersCellStaysInABrowser: WebGPU leads to WebNN and then to the
// browser's own processor, in the same browser where that can be.
func TestABrowsersCellStaysInABrowser(t *testing.T) {
	t.Parallel()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Cell.Platform == platform.WebNN {
			return raise(nil, "assay_runner.errors.RefusedGraph", "no such operator")(n, job, on)
		}
		return good(n, job, on)
	}}
	for name, want := range map[string]string{"": "cpu/wasm", "firefox": "cpu/wasm@firefox", "safari": "cpu/wasm"} {
		rs, _, err := carry(t, s, browsers{}, cells(cell.Cell{Type: "x", Platform: platform.WebGPU, Browser: name}))
		if err != nil || len(rs) != 3 || rs[0].Fallback.To != "webnn" || rs[2].Cell.Target != want {
			t.Errorf("asked of %q: %d results, %v: %+v", name, len(rs), err, rs)
		}
	}
}

// large has recipes of a model whose weights fit in half precision, and nothing
// beside them.
type large struct {
	recipes
	parameters int64
}

func (l large) Recipe(ctx context.Context, c cell.Cell) (Recipe, error) {
	r, err := l.recipes.Recipe(ctx, c)
	r.Parameters = l.parameters
	return r, err
}

// TestEachStepOfAFallbackMustFit: an absent GPU and a large model start nothing
// that is bound to run out of memory; what was asked for by name is tried.
func TestEachStepOfAFallbackMustFit(t *testing.T) {
	t.Parallel()
	for platformName, children := range map[platform.Name]int{platform.CUDA: 0, platform.CPU: 1} {
		s, obs := &script{do: good}, &notes{}
		p, err := cells(cell.Cell{Type: "x", Platform: platformName}).Normal()
		if err != nil {
			t.Fatal(err)
		}
		l := &Lab{Runner: s, Recipes: large{parameters: 900e6}, Machine: everyCPU{}, Workers: 2, Limit: 1 << 40}
		if err := l.Carry(t.Context(), p, obs); err != nil {
			t.Fatal(err)
		}
		if len(s.jobs) != children {
			t.Errorf("%s: %d children were started, want %d", platformName, len(s.jobs), children)
		}
		for _, r := range obs.results[min(1, len(obs.results)-1):] {
			untried := r.Verdict == cell.Unavailable && r.Evidence == cell.None && r.Failure == nil && strings.HasPrefix(r.Note, "not tried: checking it takes about")
			if platformName == platform.CUDA && !untried {
				t.Errorf("%s: %s, %s, %q, %+v", r.Cell.Target, r.Verdict, r.Evidence, r.Note, r.Failure)
			}
		}
		if platformName == platform.CUDA && len(obs.results) != 3 {
			t.Errorf("%d results: a step that is not tried ends the chain", len(obs.results))
		}
	}
}

// TestWeightsThatDoNotFitFail: of weights that are too large the parameter count
// tells, in a fallback too.
func TestWeightsThatDoNotFitFail(t *testing.T) {
	t.Parallel()
	obs := &notes{}
	p, err := cells(cell.Cell{Type: "x", Platform: platform.CUDA}).Normal()
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Runner: &script{do: good}, Recipes: large{parameters: 9e9}, Machine: everyCPU{}, Workers: 2, Limit: 1 << 40}
	if err := l.Carry(t.Context(), p, obs); err != nil {
		t.Fatal(err)
	}
	for _, r := range obs.results[1:] {
		if r.Verdict != cell.Fails || r.Evidence != cell.Derived || r.Failure.Class != cell.OutOfMemory {
			t.Errorf("%s: %s, %s, %+v", r.Cell.Target, r.Verdict, r.Evidence, r.Failure)
		}
	}
}

// TestAnImpossiblePairIsOneCell: a sweep over targets and dtypes goes on without
// the pairs that there are not, and says so of each; alone such a pair is an error.
func TestAnImpossiblePairIsOneCell(t *testing.T) {
	t.Parallel()
	odd := cell.Cell{Type: "x", Target: "cpu/onnxruntime", DType: platform.BF16}
	s := &script{do: good}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x", DType: platform.BF16}, odd))
	if err != nil || len(rs) != 2 || len(s.jobs) != 1 {
		t.Fatalf("%d results of %d children, %v", len(rs), len(s.jobs), err)
	}
	for _, r := range rs {
		if r.Cell.Engine == platform.Torch && r.Verdict != cell.Works {
			t.Errorf("what can run: %s", r.Verdict)
		}
		if r.Cell.Engine == platform.ONNXRuntime && (r.Verdict != cell.Unavailable || r.Evidence != cell.None || r.Suits() || r.Note != "cpu/onnxruntime does not run in bf16: its dtypes are fp32") {
			t.Errorf("what cannot: %s, %s, %q", r.Verdict, r.Evidence, r.Note)
		}
	}
	if _, err := cells(odd).Normal(); err == nil {
		t.Error("a plan of nothing that can run is taken")
	}
	wrong := odd
	wrong.Size = "huge"
	if _, err := cells(cell.Cell{Type: "x"}, wrong).Normal(); err == nil {
		t.Error("what else is wrong with such a cell is not said")
	}
}
