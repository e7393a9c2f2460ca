package lab

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"

	"github.com/google/go-cmp/cmp"
)

// TestDescribeShares: results share the lab's context, which none may change.
func TestDescribeShares(t *testing.T) {
	t.Parallel()
	shared := cell.Context{Versions: map[string]string{"torch": "2.15.0"}, EnvironmentID: "e"}
	report := runner.Report{Threads: 2, Context: json.RawMessage(`{"versions":{"torch":"2.15.0+cpu","driver":"580"},"governor":"performance"}`)}
	got := describe(shared, report)
	want := cell.Context{
		Versions: map[string]string{"torch": "2.15.0+cpu", "driver": "580"}, EnvironmentID: "e", Governor: "performance", Threads: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"torch": "2.15.0"}, shared.Versions); diff != "" {
		t.Errorf("the shared context changed: %s", diff)
	}
}

// TestOutputsNextToNothingAreNamed: they change no verdict, and the result and
// its journal line say which they are.
func TestOutputsNextToNothingAreNamed(t *testing.T) {
	t.Parallel()
	s := &script{do: func(_ int, _ runner.Job, on func(runner.Event)) (runner.Exit, error) {
		on(runner.PointDone{Report: json.RawMessage(`{"finite":true,"numerics":{"max_rel":1e-6,"tolerance":1e-3,"reference":"cpu fp32","pass":true,"negligible":{"generated.1":5.7e-7}}}`)})
		return runner.Exit{}, nil
	}}
	results, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "qwen2_5_omni"}))
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	r := results[0]
	if want := "too close to zero to judge: generated.1 (at most 5.7e-07)"; r.Verdict != cell.Works || r.Note != want {
		t.Errorf("%s, %q; want works, %q", r.Verdict, r.Note, want)
	}
	if diff := cmp.Diff(map[string]float64{"generated.1": 5.7e-7}, r.Numerics.Negligible); diff != "" {
		t.Error(diff)
	}
}

func TestExpertsAndKernelsReachTheResult(t *testing.T) {
	t.Parallel()
	want := cell.Experts{Layers: 2, Experts: 4, Used: []int{4, 3}, UsedShare: 0.875}
	s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		var report map[string]any
		if err := json.Unmarshal(goodReport(job), &report); err != nil {
			return runner.Exit{}, err
		}
		report["experts"], report["kernels"] = want, map[string]string{"selective_scan_fn": "reference"}
		b, err := json.Marshal(report)
		on(runner.PointDone{Report: b})
		return runner.Exit{}, err
	}}
	results, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "mixtral", Platform: platform.CPU}))
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	line, err := json.Marshal(results[0])
	if err != nil {
		t.Fatal(err)
	}
	var read cell.Result
	if err := json.Unmarshal(line, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, read.Experts); diff != "" || read.Kernels["selective_scan_fn"] != "reference" {
		t.Error(diff, read.Kernels)
	}
}

// TestFitted: missing tensors make a result partial and are named; unused ones
// are only named.
func TestFitted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		missing, unused []string
		verdict         cell.Verdict
		note            string
	}{
		{nil, nil, cell.Works, ""},
		{[]string{"a"}, nil, cell.Partial, "1 tensor not in the weights and drawn at random: a"},
		{nil, []string{"a", "b", "c", "d"}, cell.Works, "4 tensors of the weights not used: a, b, c, …"},
		{[]string{"a", "b"}, []string{"c"}, cell.Partial, "2 tensors not in the weights and drawn at random: a, b; 1 tensor of the weights not used: c"},
	} {
		r := cell.Result{Verdict: cell.Works, Loaded: &cell.Loaded{Commit: "abc"}}
		fitted(&r, runner.Report{WeightsDigest: "d", WeightsMissing: c.missing, WeightsUnused: c.unused})
		if r.Verdict != c.verdict || r.Note != c.note || r.Loaded.Digest != "d" || r.Loaded.Commit != "abc" || len(r.Loaded.Missing) != len(c.missing) {
			t.Errorf("got %s, %q, %+v", r.Verdict, r.Note, r.Loaded)
		}
	}
	drawn := cell.Result{Verdict: cell.Works}
	if fitted(&drawn, runner.Report{}); drawn.Loaded != nil {
		t.Error("drawn weights were loaded from nowhere")
	}
}

// TestHowExactItIs: what computes in less than was asked for is partial and
// named, and a row that is off is wrong even where a larger one hides it.
func TestHowExactItIs(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		numerics string
		verdict  cell.Verdict
		says     string
	}{
		"right":           {`"max_rel":4e-7,"tolerance":8e-6,"rows":{"max_rel":5e-7,"tolerance":1e-5,"cosine":1},"margin":20,"pass":true`, cell.Works, ""},
		"less than asked": {`"max_rel":4e-4,"tolerance":8e-6,"precision":"TF32 or fp16","pass":true`, cell.Partial, "it does not compute in fp32: its error of 0.0004 is as large as that of TF32 or fp16"},
		"a row is off":    {`"max_rel":7e-6,"tolerance":8e-6,"rows":{"max_rel":0.1,"tolerance":1e-5,"cosine":0.995},"pass":false`, cell.Fails, "a row of the output differs from cpu fp32 by 0.1 of its length, more than 1e-05"},
		"all is off":      {`"max_rel":7e-3,"tolerance":8e-6,"rows":{"max_rel":0.1,"tolerance":1e-5,"cosine":0.995},"pass":false`, cell.Fails, "the output differs from cpu fp32 by 0.007 of its largest value, more than 8e-06"},
		"not a number":    {`"max_rel":null,"tolerance":8e-6,"rows":{"max_rel":null,"tolerance":1e-5,"cosine":0},"pass":false`, cell.Fails, "the output differs from cpu fp32 by "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{do: func(_ int, _ runner.Job, on func(runner.Event)) (runner.Exit, error) {
				on(runner.PointDone{Report: json.RawMessage(`{"finite":true,"numerics":{"reference":"cpu fp32",` + row.numerics + `}}`)})
				return runner.Exit{}, nil
			}}
			results, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "bert", DType: platform.FP32}))
			if err != nil || len(results) != 1 {
				t.Fatal(results, err)
			}
			said := results[0].Note
			if f := results[0].Failure; f != nil {
				said = f.Detail
			}
			if results[0].Verdict != row.verdict || !strings.HasPrefix(said, row.says) || (row.says == "") != (said == "") {
				t.Errorf("%s, %q; want %s, %q", results[0].Verdict, said, row.verdict, row.says)
			}
		})
	}
}

func training(t cell.Training) *runner.Training { return &runner.Training{Training: t} }

func TestVerdicts(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	passed := &cell.Numerics{Pass: true, Reference: "cpu fp64"}
	for name, tc := range map[string]struct {
		report runner.Report
		want   cell.Verdict
		says   string
	}{
		"right":            {runner.Report{Finite: &yes, Constant: &no, Numerics: passed}, cell.Works, ""},
		"not finite":       {runner.Report{Finite: &no, Numerics: passed}, cell.Fails, "NaN"},
		"constant":         {runner.Report{Finite: &yes, Constant: &yes, Numerics: passed}, cell.Fails, "same everywhere"},
		"wrong":            {runner.Report{Numerics: &cell.Numerics{MaxRel: new(0.5), Tolerance: 1e-3, Reference: "cpu fp64"}}, cell.Fails, "differs from cpu fp64"},
		"not quantised so": {runner.Report{Numerics: &cell.Numerics{SNRdB: new(31.0), LeastSNRdB: new(20.0), Quantised: &cell.Quantised{By: "ONNX Runtime", MaxRel: new(0.004), Tolerance: 1e-5, Pass: &no}}}, cell.Fails, "does not compute what was quantised: the output differs from ONNX Runtime on the dequantised weights by 0.004"},
		"noisier than so":  {runner.Report{Numerics: &cell.Numerics{SNRdB: new(21.0), LeastSNRdB: new(20.0), Quantised: &cell.Quantised{By: "ONNX Runtime", SNRdB: new(15.0), LeastSNRdB: new(34.0), Pass: &no}}}, cell.Fails, "is 15.0 dB, less than 34"},
		"quantised so":     {runner.Report{Numerics: &cell.Numerics{Pass: true, SNRdB: new(31.0), LeastSNRdB: new(20.0), Quantised: &cell.Quantised{MaxRel: new(1e-7), Tolerance: 1e-5, Pass: &yes}}}, cell.Works, ""},
		"not compared so":  {runner.Report{Numerics: &cell.Numerics{Pass: true, SNRdB: new(31.0), LeastSNRdB: new(20.0), Quantised: &cell.Quantised{Note: "no such operator"}}}, cell.Works, ""},
		"other pixels":     {runner.Report{Numerics: &cell.Numerics{Pass: true, Around: []cell.Around{{What: "pixel_values, before the model", Pass: new(bool)}}}}, cell.Fails, ""},
		"half compared":    {runner.Report{Numerics: &cell.Numerics{Pass: true, Around: []cell.Around{{What: "text, after the model"}}}}, cell.Partial, "not compared: text, after the model"},
		"not checked":      {runner.Report{NumericsNote: "56 GiB needed"}, cell.Partial, "56 GiB needed"},
		"left over":        {runner.Report{Numerics: passed, Placement: &cell.Placement{Device: "cpu", Nodes: map[string]int{"cpu": 9, "cuda:0": 2}}}, cell.Partial, "2 operations on cuda:0"},
		"a blind check":    {runner.Report{Numerics: &cell.Numerics{Pass: true, Control: &cell.Control{Kind: "zero-mlp", Change: new(1e-9)}}}, cell.Partial, "zero-mlp"},
		"a blind engine":   {runner.Report{Numerics: &cell.Numerics{Pass: true, Control: &cell.Control{Kind: "negate-quarter", Where: cell.OnEngine, Change: new(1e-7), Expected: new(1.8), Note: "it differs"}}}, cell.Partial, "by 1e-07 on the engine and should change it by 1.8: the two do not agree"},
		"a mute engine":    {runner.Report{Numerics: &cell.Numerics{Pass: true, Control: &cell.Control{Kind: "negate-quarter", Where: cell.OnEngine, Expected: new(1.8), Note: "the damaged graph did not run: no"}}}, cell.Partial, "the check is weak here: the damaged graph did not run: no"},
		"too little":       {runner.Report{Numerics: &cell.Numerics{Pass: true, Control: &cell.Control{Kind: "zero-weights", Where: cell.OnEngine, Change: new(0.001), Expected: new(0.001)}}}, cell.Partial, "zero-weights changes the output by only 0.001"},
		"fixed choices":    {runner.Report{Numerics: passed, Export: &cell.Exported{Steps: []cell.ExportStep{{Name: cell.FixedChoices, Why: "input_ids decide"}}}}, cell.Partial, "input_ids decide"},
		"constant mask":    {runner.Report{Numerics: passed, Export: &cell.Exported{Steps: []cell.ExportStep{{Name: cell.ConstantInputs, Why: "attention_mask: fixed"}}}}, cell.Partial, "attention_mask"},
		"wrong elsewhere":  {runner.Report{Numerics: &cell.Numerics{MaxRel: new(0.2), Tolerance: 1e-3, Reference: "cpu fp32", Sample: "padded at the end"}}, cell.Fails, "on inputs other than the first: padded at the end"},
		"fixed axes":       {runner.Report{Numerics: passed, Export: &cell.Exported{Steps: []cell.ExportStep{{Name: cell.FixedAxes, Why: "batch of pixel_values"}}}}, cell.Partial, "batch of pixel_values"},
		"other steps":      {runner.Report{Numerics: passed, Export: &cell.Exported{Steps: []cell.ExportStep{{Name: "constants folded"}}}}, cell.Works, ""},
		"another past":     {runner.Report{Numerics: passed, Generation: &runner.Tokens{NewTokens: 9, OnePass: &cell.OnePass{Tokens: new(4), MaxRel: new(0.3), Pass: &no}}}, cell.Partial, "token 5 is not the one"},
		"other logits":     {runner.Report{Numerics: passed, Generation: &runner.Tokens{NewTokens: 9, OnePass: &cell.OnePass{Tokens: new(9), MaxRel: new(0.3), Tolerance: 1e-3, Pass: &no}}}, cell.Partial, "by 0.3 of the largest value, more than 0.001"},
		"not passed so":    {runner.Report{Numerics: passed, Generation: &runner.Tokens{NewTokens: 9, OnePass: &cell.OnePass{Note: "embeddings"}}}, cell.Works, ""},
		"trained":          {runner.Report{Numerics: passed, Training: training(cell.Training{Falls: &yes, Gradients: &cell.Gradients{Judged: 3, Pass: true}})}, cell.Works, ""},
		"left out":         {runner.Report{Numerics: passed, Training: training(cell.Training{Falls: &yes, Gradients: &cell.Gradients{Judged: 3, Missed: []string{"head.bias"}}})}, cell.Fails, "moved 1 parameter other than the reference's: head.bias"},
		"wrong gradient":   {runner.Report{Numerics: passed, Training: training(cell.Training{Falls: &yes, Gradients: &cell.Gradients{Judged: 3, Worst: "head.bias", MaxRel: new(1.0), Tolerance: 1e-3}})}, cell.Fails, "the gradient of head.bias differs from the reference's by 1 of its length"},
		"does not fall":    {runner.Report{Numerics: passed, Training: training(cell.Training{Falls: &no, Losses: []*float64{new(2.0), new(2.5)}, Gradients: &cell.Gradients{Judged: 3, Pass: true}})}, cell.Fails, "does not fall on a batch that it is trained on: 2 → 2.5"},
		"other losses":     {runner.Report{Numerics: &cell.Numerics{MaxRel: new(0.5), Tolerance: 1e-3, Reference: "cpu fp64"}, Training: training(cell.Training{})}, cell.Fails, "the losses of a few steps differ from those of a loop on cpu fp64"},
		"no number":        {runner.Report{Finite: &no, Training: training(cell.Training{Losses: []*float64{new(2.0), nil}})}, cell.Fails, "not a number after a few steps: 2 → NaN"},
		"nothing judged":   {runner.Report{Numerics: passed, Training: training(cell.Training{Gradients: &cell.Gradients{}})}, cell.Partial, "no gradient"},
		"wrong and left":   {runner.Report{Numerics: &cell.Numerics{MaxRel: new(1.0)}, Placement: &cell.Placement{Nodes: map[string]int{"cpu": 9, "cuda:0": 2}}}, cell.Fails, "differs"},
	} {
		v, note, f := verdict(cell.Cell{Type: "x"}.Normal(), tc.report)
		said := note
		if f != nil {
			said = f.Detail
			if f.Class != cell.WrongOutput || f.Hint == "" {
				t.Errorf("%s: failure %+v", name, f)
			}
		}
		if v != tc.want || !strings.Contains(said, tc.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, v, said, tc.want, tc.says)
		}
	}
}

// TestWhereLayersMayBe: layers that are split over a device and its host strayed
// nowhere; the host is no place for any other cell of a device.
func TestWhereLayersMayBe(t *testing.T) {
	t.Parallel()
	seen := runner.Report{Numerics: &cell.Numerics{Pass: true}, Placement: &cell.Placement{Device: "cpu,cuda:0", Nodes: map[string]int{"cuda:0": 9, "cpu": 8}}}
	onMeta := runner.Report{Numerics: seen.Numerics, Placement: &cell.Placement{Device: "cuda:0,meta", Nodes: map[string]int{"cuda:0": 9}}}
	npu := runner.Report{Numerics: seen.Numerics, Placement: &cell.Placement{Device: "npu:0", Nodes: map[string]int{"npu:0": 9, "cpu": 2}}}
	for name, tc := range map[string]struct {
		is     cell.Cell
		report runner.Report
		want   cell.Verdict
		says   string
	}{
		"split":           {cell.Cell{Type: "x", Platform: platform.CUDA, Special: cell.Special{Parallel: cell.LayerSplit}}, seen, cell.Works, ""},
		"split, nowhere":  {cell.Cell{Type: "x", Platform: platform.CUDA, Special: cell.Special{Parallel: cell.LayerSplit}}, onMeta, cell.Partial, "on meta"},
		"whole":           {cell.Cell{Type: "x", Platform: platform.CUDA}, seen, cell.Partial, "8 operations on cpu"},
		"a maker's":       {cell.Cell{Type: "x", Platform: platform.NPU}, npu, cell.Partial, "2 operations on cpu"},
		"a maker's, held": {cell.Cell{Type: "x", Platform: platform.NPU}, runner.Report{Numerics: seen.Numerics, Placement: &cell.Placement{Device: "npu:0"}}, cell.Works, ""},
	} {
		if v, note, f := verdict(tc.is.Normal(), tc.report); v != tc.want || f != nil || !strings.Contains(note, tc.says) {
			t.Errorf("%s: %s, %q, %v; want %s, %q", name, v, note, f, tc.want, tc.says)
		}
	}
}

// TestRescued: a result that only another setting made right says so.
func TestRescued(t *testing.T) {
	t.Parallel()
	s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		var r map[string]any
		if err := json.Unmarshal(goodReport(job), &r); err != nil {
			return runner.Exit{}, err
		}
		r["export"] = cell.Exported{Way: "onnx, FUSE=NO", Earlier: []cell.ExportTry{{Way: "onnx", Error: "its numbers are wrong by 0.5"}}}
		b, err := json.Marshal(r)
		on(runner.PointDone{Report: b})
		return runner.Exit{}, err
	}}
	rs, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "x"}))
	if err != nil {
		t.Fatal(err)
	}
	const want = "with the engine's default configuration (onnx) its numbers are wrong by 0.5; they are right with onnx, FUSE=NO"
	if rs[0].Verdict != cell.Works || rs[0].Note != want {
		t.Errorf("%s, %q", rs[0].Verdict, rs[0].Note)
	}
}

// given is a fingerprint of one product.
func given(product float64) cell.Fingerprint {
	return cell.Fingerprint{Reference: "cpu fp64", Samples: map[string]map[string][]float64{"first": {"logits": {2, product}}}}
}

// TestOtherAnswersReachTheResult: a model that gives something else than was
// kept of it still works, and says so; one that is not the same model does not.
func TestOtherAnswersReachTheResult(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		subject string
		product float64
		note    string
		other   bool
	}{
		"the same":       {"abc", 0.5, "", false},
		"rounded":        {"abc", 0.500001, "", false},
		"other answers":  {"abc", 0.75, "its answers changed since transformers 5.17.0: logits by 0.25 of its length (first)", true},
		"another model":  {"xyz", 0.75, "", true},
		"not comparable": {"", 0.75, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{do: func(_ int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
				var report map[string]any
				if err := json.Unmarshal(goodReport(job), &report); err != nil {
					return runner.Exit{}, err
				}
				report["fingerprint"], report["subject_hash"] = given(tt.product), tt.subject
				b, err := json.Marshal(report)
				on(runner.PointDone{Report: b})
				return runner.Exit{}, err
			}}
			results, _, err := carry(t, s, bench{}, cells(cell.Cell{Type: "known", Platform: platform.CPU}, cell.Cell{Type: "known", Platform: platform.CPU, Batch: 4}))
			if err != nil || len(results) != 2 {
				t.Fatal(results, err)
			}
			r, larger := results[0], results[1]
			if larger.Cell.Batch == 1 {
				r, larger = larger, r
			}
			if larger.Changed != nil {
				t.Errorf("with other sizes it is %+v, want nothing", larger.Changed)
			}
			if r.Verdict != cell.Works || r.Note != tt.note || (r.Changed != nil) != tt.other || r.Fingerprint == nil {
				t.Errorf("%s, %q, %+v; want works, %q", r.Verdict, r.Note, r.Changed, tt.note)
			}
		})
	}
}
