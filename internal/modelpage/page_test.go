package modelpage

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/facts"
	"assay/internal/matrix"

	"github.com/google/go-cmp/cmp"
)

func page() Page {
	method, attention := "shapes", "sdpa"
	return Page{
		Schema: 1,
		Model:  catalog.Row{Type: "bert", Class: "BertForMaskedLM", Task: "fill-mask", Families: []string{"encoder-only"}},
		Heads:  []catalog.Head{{Task: "fill-mask", Class: "BertForMaskedLM"}}, Size: "tiny",
		Recipe: json.RawMessage(`{"inputs":[{"name":"input_ids","dtype":"int64","shape":["batch","seq",3]}],"sizes":{"seq":16},
			"control":{"kind":"zero-attention","effect":0.61},"gain":4,"parameters":120896}`),
		Facts: &facts.Sheet{
			Schema: 1, Evidence: cell.Derived, Class: "BertForMaskedLM", Sizes: map[string]int{"batch": 2, "seq": 16},
			Method: &method, Attention: &attention,
			Inputs:       []cell.Output{{Name: "input_ids", Shape: []int{2, 16}, DType: "int64"}},
			Parameters:   &facts.Parameters{Total: 120896, Modules: []facts.Module{{Name: "bert", Parameters: 120000}, {Parameters: 896}}},
			WeightsBytes: map[string]int64{"fp32": 483584, "fp16": 241792},
			Flops:        &facts.Flops{Total: 28_499_116_032, NotCounted: map[string]int64{"aten.gelu": 2}},
			Operators: &facts.Operators{Calls: 9, Distinct: 2, Rows: []facts.Operator{
				{Name: "aten.view.default", View: true, Count: 6}, {Name: "aten.addmm.default", Count: 2},
				{Name: "aten.add.Tensor", Count: 2}, {Name: "aten.addmm.default", DTypes: []string{"float16"}, Count: 1},
			}},
			Notes: []string{"image 64 has no effect"}, Missing: map[string]string{"outputs": "NotImplementedError (Router, m.py:3)", "bytes": "NotImplementedError (Router, m.py:3)"},
		},
		Ran: []Ran{{Platform: "cpu", Size: "tiny", DType: "fp32", Verdict: cell.Fails, Evidence: cell.Measured, Class: cell.ModelError,
			Why: "shape (Bert, b.py:1)", StartedAt: new(time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)), Versions: map[string]string{"transformers": "5.22.2"}}},
	}
}

func text(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	t.Parallel()
	want := `type         bert
class        BertForMaskedLM
task         fill-mask
families     encoder-only
head         fill-mask (BertForMaskedLM)
recipe       tiny, seq 16
control      zero-attention (gain 4), moves the output by 0.61 of its largest value
facts        derived from shapes alone, at batch 2, seq 16
input        input_ids int64 [2, 16]
parameters   121 k (120896): bert 120 k, own 896
weights      484 kB in fp32, 242 kB in fp16
operations   28.5 GFLOPs per forward (1 kinds of operators are not counted)
attention    sdpa
operators    9 calls of 2: aten.addmm ×3, aten.add.Tensor ×2
note         image 64 has no effect
ran          cpu, tiny, fp32: fails (measured) on 2026-11-15 with transformers 5.22.2, model-error: shape (Bert, b.py:1)
not known    bytes, outputs: NotImplementedError (Router, m.py:3)
`
	if diff := cmp.Diff(want, text(t, page())); diff != "" {
		t.Error(diff)
	}
}

// TestTextSaysWhatDidNotRun: a verdict that no run stands behind is no "ran …
// works", and a warning stands beside one that does.
func TestTextSaysWhatDidNotRun(t *testing.T) {
	t.Parallel()
	got := text(t, Page{Ran: []Ran{
		{Target: "rocm", Size: "tiny", DType: "fp16", Verdict: cell.Works, Evidence: cell.Derived, Why: "every operator has a kernel"},
		{Target: "mps/coreml", Size: "tiny", DType: "fp16", Verdict: cell.Partial, Evidence: cell.Compiled},
		{Target: "mps", Size: "tiny", DType: "fp32", Verdict: cell.Fails, Evidence: cell.Derived, Class: cell.UnsupportedOperator},
		{Target: "cuda", Size: "tiny", DType: "fp32", Verdict: cell.Unavailable, Evidence: cell.None},
		{Target: "openvino", Size: "tiny", DType: "fp32", Verdict: cell.Works, Evidence: cell.Measured, Why: "right with another setting"},
		{Target: "qnn", Size: "tiny", DType: "fp16", Verdict: cell.Works, Evidence: cell.Emulated},
	}})
	want := `not run      rocm, tiny, fp16: should work (derived): every operator has a kernel
not run      mps/coreml, tiny, fp16: should work partly (compiled)
not run      mps, tiny, fp32: fails (derived), unsupported-operator
not run      cuda, tiny, fp32: unavailable (none)
ran          openvino, tiny, fp32: works (measured): right with another setting
ran          qnn, tiny, fp16: works (emulated)
`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

// TestTextWithoutFacts: the recipe's own inputs stand there, and how to get the rest.
func TestTextWithoutFacts(t *testing.T) {
	t.Parallel()
	p := page()
	p.Facts, p.NoFacts, p.Ran, p.NoRan = nil, "run assay setup", nil, "the database is in use"
	got := text(t, p)
	for _, want := range []string{
		"input        input_ids int64 [batch, seq, 3]\n", "parameters   121 k\n",
		"no facts     run assay setup\n", "no results   the database is in use\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	p.Recipe, p.NoRecipe = nil, "it is a component"
	if got := text(t, p); !strings.Contains(got, "no recipe    it is a component\n") || strings.Contains(got, "control") {
		t.Error(got)
	}
}

func TestLatest(t *testing.T) {
	t.Parallel()
	result := func(checkpoint string, v cell.Verdict) cell.Result {
		return cell.Result{Cell: cell.Cell{Type: "bert", Checkpoint: checkpoint}.Normal(), Verdict: v, Note: string(v)}
	}
	got := Latest([]matrix.Observation{{Result: result("", cell.Works)}, {Result: result("named", cell.Fails)}, {Result: result("", cell.Fails)}})
	if len(got) != 1 || got[0].Verdict != cell.Works || got[0].StartedAt != nil {
		t.Errorf("%+v", got)
	}
	if got := Latest(nil); got == nil || len(got) != 0 {
		t.Errorf("%#v", got)
	}
}

// What was imported stands apart from what ran here, and says so.
func TestImportedStandsApart(t *testing.T) {
	t.Parallel()
	r := cell.Result{Cell: cell.Cell{Type: "bert", Target: "cuda"}.Normal(), Verdict: cell.Works, Evidence: cell.Measured}
	absent := r
	absent.Verdict, absent.Evidence = cell.Unavailable, cell.None
	p := Page{Ran: Latest([]matrix.Observation{{Result: r, Imported: true}, {Result: absent}})}
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"works (measured, imported)", "unavailable (none)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q:\n%s", want, b.String())
		}
	}
}
