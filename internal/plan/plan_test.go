package plan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ask  Request
		want []string
	}{
		"a type is tiny and random": {asking([]string{"bert"}, "cpu"), []string{"bert on cpu fp32 tiny random"}},
		"a checkpoint has its size": {asking([]string{"bert-base-uncased"}, "cpu"), []string{"google-bert/bert-base-uncased on cpu fp32 full random"}},
		"a type at full size is its first checkpoint": {
			Request{Selector: catalog.Selector{Models: []string{"bert"}}, Settings: Settings{Targets: []string{"cpu"}, Size: cell.Full}},
			[]string{"google-bert/bert-base-uncased on cpu fp32 full random"},
		},
		"a checkpoint at size tiny is its type": {
			Request{Selector: catalog.Selector{Models: []string{"bert-base-uncased"}}, Settings: Settings{Targets: []string{"cpu"}, Size: cell.Tiny}},
			[]string{"bert on cpu fp32 tiny random"},
		},
		"models, then targets, then dtypes": {
			Request{Selector: catalog.Selector{Models: []string{"bert", "vit"}}, Settings: Settings{Targets: []string{"cpu", "qnn:sm8650"}, DTypes: []string{"fp32", "fp16"}}},
			[]string{
				"bert on cpu fp32 tiny random", "bert on cpu fp16 tiny random", "bert on qnn:sm8650 fp32 tiny random", "bert on qnn:sm8650 fp16 tiny random",
				"vit on cpu fp32 tiny random", "vit on cpu fp16 tiny random", "vit on qnn:sm8650 fp32 tiny random", "vit on qnn:sm8650 fp16 tiny random",
			},
		},
		"the platform's own dtype":        {asking([]string{"bert"}, "qnn:sm8650"), []string{"bert on qnn:sm8650 fp16 tiny random"}},
		"what is asked twice is run once": {asking([]string{"bert", "BERT"}, "cpu", "cpu"), []string{"bert on cpu fp32 tiny random"}},
		"a selector and a task": {
			Request{Selector: catalog.Selector{Models: []string{"bert"}, Tasks: []string{"fill-mask"}}, Settings: Settings{Targets: []string{"cpu"}}},
			[]string{"bert on cpu fp32 tiny random"},
		},
		"a pair that cannot be, beside one that can": {
			Request{Selector: catalog.Selector{Models: []string{"bert"}}, Settings: Settings{Targets: []string{"cpu", "webgpu"}, DTypes: []string{"bf16"}}},
			[]string{"bert on cpu bf16 tiny random", "bert on webgpu bf16 tiny random"},
		},
	} {
		p, _ := planner(t, nil)
		got, err := p.Plan(t.Context(), tc.ask)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, lines(got.Cells)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlanKnownHashes: what is stored of these cells and plans is found again.
func TestPlanKnownHashes(t *testing.T) {
	t.Parallel()
	p, _ := planner(t, nil)
	ask := asking([]string{"bert"}, "cpu", "cpu/onnxruntime", "openvino", "webgpu")
	ask.Batches, ask.Seqs = []int{1, 4}, []int{32}
	got, err := p.Plan(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	var hashes []string
	for _, c := range got.Cells {
		hashes = append(hashes, c.Hash)
	}
	want := []string{
		"dc450d69dad2621d", "9ac64f8ec28ace46", "230bce9966563041", "b902188fe3e4dc68",
		"00b39eed9ae7e4b0", "2686879ccbc67f09", "7d95c4c44ceca10e", "d6c22c44b24147c1",
	}
	if got := got.Hash(); got != "55b454fea086db25" {
		t.Errorf("the plan's hash is %s", got)
	}
	if diff := cmp.Diff(want, hashes); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	with := func(change func(*Request)) Request {
		r := asking([]string{"bert"}, "cpu")
		change(&r)
		return r
	}
	for want, ask := range map[string]Request{
		`unknown model "bertt"`:                                   asking([]string{"bertt"}, "cpu"),
		"no model matches":                                        with(func(r *Request) { r.Models, r.Tasks = []string{"vit"}, []string{"fill-mask"} }),
		"unknown platform":                                        asking([]string{"bert"}, "abacus"),
		`unknown browser "netscape"`:                              asking([]string{"bert"}, "webgpu@netscape"),
		"--batch 0: it must be at least 1":                        with(func(r *Request) { r.Batches = []int{1, 0} }),
		"--seq -1: it must be at least 1":                         with(func(r *Request) { r.Seqs = []int{-1} }),
		"--threads -1: it must be at least 0":                     with(func(r *Request) { r.Threads = -1 }),
		"repeats is at most 1000":                                 with(func(r *Request) { r.Repeats = 1001 }),
		"webgpu does not run in bf16":                             with(func(r *Request) { r.Targets, r.DTypes = []string{"webgpu"}, []string{"bf16"} }),
		"leave --warm out":                                        with(func(r *Request) { r.Start = cell.WarmStart }),
		`unknown size "huge"`:                                     with(func(r *Request) { r.Size = "huge" }),
		"bert at size tiny has no published weights":              with(func(r *Request) { r.Weights = cell.Hub }),
		"there is no folder nowhere":                              with(func(r *Request) { r.Weights = "nowhere" }),
		"bert is a type, which has no revisions":                  asking([]string{"bert@main"}, "cpu"),
		"owner/unheard-of is neither in the catalogue nor in the": asking([]string{"owner/unheard-of"}, "cpu"),
		"the cells say everything themselves":                     with(func(r *Request) { r.Cells = []cell.Cell{{Type: "bert"}} }),
		"there is no file ./nowhere.onnx":                         asking([]string{"./nowhere.onnx"}, "cpu"),
		"cell 2: unknown model \"nosuch\": the nearest names are": {Cells: []cell.Cell{{Type: "bert"}, {Type: "nosuch"}}},
	} {
		p, _ := planner(t, nil)
		_, err := p.Plan(t.Context(), ask)
		wrong := (*RequestError)(nil)
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a request error with %q", err, want)
		}
	}
}

// TestPlanProperties: the same request gives the same plan, also when it has
// been written and read; every cell of it can be run or says why not, once.
func TestPlanProperties(t *testing.T) {
	t.Parallel()
	p, _ := planner(t, captured(t, "h200"))
	rapid.Check(t, func(t *rapid.T) {
		ask := requests().Draw(t, "request")
		plan, err := p.Plan(t.Context(), ask)
		again, errAgain := p.Plan(t.Context(), written(t, ask))
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("%v, and written and read %v", err, errAgain)
		}
		if diff := cmp.Diff(plan, again); diff != "" {
			t.Fatal(diff)
		}
		if err != nil {
			if wrong := (*RequestError)(nil); !errors.As(err, &wrong) {
				t.Fatalf("%v is not a fault of the request's", err)
			}
			return
		}
		checkCells(t, p.Catalog, ask, plan)
	})
}

func checkCells(t *rapid.T, cat *catalog.Catalog, ask Request, plan cell.Plan) {
	seen := map[string]bool{}
	for _, c := range plan.Cells {
		pair := (*cell.PairError)(nil)
		if err := c.Validate(); err != nil && !errors.As(err, &pair) {
			t.Fatalf("%s: %v", line(c), err)
		}
		if c != c.Normal() || seen[c.Hash] {
			t.Fatalf("%s is not normal, or there twice", line(c))
		}
		seen[c.Hash] = true
		if !c.Travels() {
			t.Fatalf("%s does not travel", line(c))
		}
		if c.Size == cell.Full && c.Checkpoint == "" && cat.FirstCheckpoint(c.Type) != "" {
			t.Fatalf("%s is full and no checkpoint", line(c))
		}
	}
	if plan.Hash() == "" || plan.Strict != ask.Strict || plan.Repeats != ask.Repeats {
		t.Fatalf("%+v of %+v", plan, ask)
	}
}

// requests are such as can be made without files or the Hub.
func requests() *rapid.Generator[Request] {
	some := func(values ...string) *rapid.Generator[[]string] {
		return rapid.SliceOfN(rapid.SampledFrom(values), 0, 3)
	}
	one := func(values ...string) *rapid.Generator[string] { return rapid.SampledFrom(append(values, "", "")) }
	return rapid.Custom(func(t *rapid.T) Request {
		return Request{
			Selector: catalog.Selector{
				Models: some("bert", "vit", "bert-base-uncased", "whisper", "tinyllama", "stable-diffusion").Draw(t, "models"),
				Key:    rapid.Bool().Draw(t, "key"),
				Tasks:  some("fill-mask").Draw(t, "tasks"),
			},
			Settings: Settings{
				Targets: some("auto", "all", "cpu", "cpu/onnxruntime", "cuda:1", "openvino:GPU", "qnn", "webgpu@firefox", "mps/coreml").Draw(t, "targets"),
				Size:    one(cell.Tiny, cell.Full).Draw(t, "size"), Weights: one(cell.Random, cell.Hub).Draw(t, "weights"),
				DTypes:  some("fp32", "fp16", "bf16", "int8", "w4").Draw(t, "dtypes"),
				Batches: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 2).Draw(t, "batches"),
				Seqs:    rapid.SliceOfN(rapid.IntRange(1, 64), 0, 2).Draw(t, "seqs"),
				Mode:    one(cell.Infer, cell.Generate).Draw(t, "mode"),
				Special: cell.Special{Shapes: one(cell.DynamicShapes).Draw(t, "shapes"), Start: one(cell.WarmStart).Draw(t, "start"), Block: one("32", "64").Draw(t, "block")},
			},
			How: How{Strict: rapid.Bool().Draw(t, "strict"), Repeats: rapid.IntRange(0, 9).Draw(t, "repeats"), Timing: rapid.SampledFrom([]cell.Timing{"", cell.Functional, cell.Quick}).Draw(t, "timing")},
		}
	})
}

func written(t *rapid.T, r Request) Request {
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out Request
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMost: settings multiply, so that a short request may mean more cells than there is memory for.
func TestMost(t *testing.T) {
	t.Parallel()
	long := make([]int, 100_000)
	for i := range long {
		long[i] = i + 1
	}
	p, _ := planner(t, nil)
	p.Most = 100
	refused := (*RequestError)(nil)
	if _, err := p.Plan(t.Context(), Request{Selector: catalog.Selector{All: true}, Settings: Settings{Targets: []string{"cpu"}, Batches: long, Seqs: long}}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "more than 100 cells") {
		t.Errorf("%v", err)
	}
	ask := Request{Selector: catalog.Selector{Models: []string{"bert", "vit"}}, Settings: Settings{Targets: []string{"cpu"}, Batches: long[:50]}}
	if got, err := p.Plan(t.Context(), ask); err != nil || len(got.Cells) != 100 {
		t.Errorf("%d cells, %v", len(got.Cells), err)
	}
	ask.Batches = long[:51]
	if _, err := p.Plan(t.Context(), ask); !errors.As(err, &refused) {
		t.Errorf("one too many: %v", err)
	}
}
