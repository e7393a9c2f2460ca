package lab

import (
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The order is fixed: batch, then input size, then dtype.
func TestLowerGoesDownTheLadder(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "vit", Platform: platform.CUDA, Batch: 4}.Normal()
	var got []string
	for {
		smaller, ok := lower(c, 16, 64)
		if !ok {
			break
		}
		got = append(got, changed(cell.Cell{Batch: c.Batch, Seq: or(c.Seq, 16), Image: or(c.Image, 64), DType: c.DType},
			cell.Cell{Batch: smaller.Batch, Seq: smaller.Seq, Image: smaller.Image, DType: smaller.DType}))
		c = smaller
	}
	want := []string{"batch 4 → 2", "batch 2 → 1", "seq 16 → 8", "image 64 → 32", "dtype fp32 → fp16"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func or(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

func TestLowerAlwaysEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(platform.All()).Draw(t, "platform")
		c := cell.Cell{Type: "x", Platform: p.Name, DType: p.DTypes[0], Batch: rapid.IntRange(1, 65536).Draw(t, "batch")}.Normal()
		seq, image := rapid.IntRange(0, 1<<20).Draw(t, "seq"), rapid.IntRange(0, 16384).Draw(t, "image")
		for steps := 0; ; steps++ {
			if steps > 100 {
				t.Fatal("the ladder does not end")
			}
			smaller, ok := lower(c, seq, image)
			if !ok {
				return
			}
			if err := smaller.Validate(); err != nil {
				t.Fatalf("lowered to an invalid cell: %v", err)
			}
			c = smaller
		}
	})
}

func TestFits(t *testing.T) {
	t.Parallel()
	gpu := Presence{Present: true, MemoryBytes: 8 << 30}
	c := cell.Cell{Type: "llava", Platform: platform.CUDA}.Normal()
	if why := fits(c, 7_000_000_000, gpu, 64<<30); !strings.Contains(why, "26.1 GiB in fp32, cuda has 8.0 GiB") {
		t.Errorf("7 B parameters on 8 GiB: %q", why)
	}
	if why := fits(c, 1_000_000_000, gpu, 1<<30); why != "" {
		t.Errorf("1 B parameters on 8 GiB: %q", why)
	}
	c = cell.Cell{Type: "llava"}.Normal()
	if why := fits(c, 3_000_000_000_000, Presence{Present: true}, 24<<30); !strings.Contains(why, "this machine has 24.0 GiB free") {
		t.Errorf("3 T parameters on the CPU: %q", why)
	}
	if why := fits(c, 3_000_000_000_000, Presence{Present: true}, 0); why != "" {
		t.Errorf("unknown memory must not forbid: %q", why)
	}
}

// Half precision that a GPU lacks is given up for fp32, once, and the result
// tells; memory that runs out then does not bring it back.
func TestHalfPrecisionIsGivenUp(t *testing.T) {
	t.Parallel()
	index := 0
	lacking := raise(&index, "NotImplementedError", `"cumsum" not implemented for 'Half'`)
	halfless := func(wide func(int, runner.Job, func(runner.Event)) (runner.Exit, error)) *script {
		return &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
			if job.Cell.DType != platform.FP32 {
				return lacking(n, job, on)
			}
			return wide(n, job, on)
		}}
	}
	plan := func(p platform.Name, d platform.DType) cell.Plan {
		return cell.Plan{NoFallback: true, Cells: []cell.Cell{{Type: "x", Platform: p, DType: d}}}
	}
	for _, d := range []platform.DType{platform.FP16, platform.BF16} {
		rs, obs, err := carry(t, halfless(good), bench{gpu: true}, plan(platform.CUDA, d))
		if err != nil || len(rs) != 1 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		r := rs[0]
		if r.Verdict != cell.Works || r.Requested.DType != string(d) || r.Actual.DType != "fp32" || r.Attempts != 2 || len(obs.notes) == 0 {
			t.Errorf("verdict %s, requested %+v, actual %+v, %d attempts", r.Verdict, r.Requested, r.Actual, r.Attempts)
		}
		if !strings.Contains(r.Note, "in "+string(d)+": unsupported-dtype: ") {
			t.Errorf("the note does not say why: %q", r.Note)
		}
	}
	oom := raise(&index, "torch.OutOfMemoryError", "CUDA out of memory")
	if rs, _, err := carry(t, halfless(oom), bench{gpu: true}, plan(platform.CUDA, platform.FP16)); err != nil || rs[0].Failure == nil || rs[0].Failure.Class != cell.OutOfMemory {
		t.Errorf("%v, %+v", err, rs)
	}
	for name, p := range map[string]cell.Plan{"no adaptation": plan(platform.CUDA, platform.FP16), "the CPU": plan(platform.CPU, platform.FP16)} {
		p.NoAdapt = name == "no adaptation"
		if rs, _, err := carry(t, halfless(good), bench{gpu: true}, p); err != nil || rs[0].Failure == nil || rs[0].Failure.Class != cell.UnsupportedDType {
			t.Errorf("%s: %v, %+v", name, err, rs)
		}
	}
}

// TestAskedStaysAsked: what memory made smaller, and what lost an input size that
// its model has not, says what the plan had asked for.
func TestAskedStaysAsked(t *testing.T) {
	t.Parallel()
	asked := cell.Cell{Type: "x", Batch: 4, Seq: 32}.Normal()
	s := &script{do: func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Points[0].Batch > 1 {
			return raise(nil, "MemoryError", "")(n, job, on)
		}
		return good(n, job, on)
	}}
	rs, _, err := carry(t, s, bench{}, cells(asked))
	if err != nil || len(rs) != 1 || rs[0].Cell.Batch != 1 {
		t.Fatalf("%v: %+v", err, rs)
	}
	if rs[0].Asked != asked.Hash || rs[0].Cell.Hash == asked.Hash {
		t.Errorf("asked %s of %s, the result is %s of %s", asked.Hash, asked.Target, rs[0].Cell.Hash, rs[0].Asked)
	}
	absent, _, err := carry(t, &script{do: good}, bench{}, cells(cell.Cell{Type: "x", Platform: platform.CUDA}))
	if err != nil || len(absent) != 2 {
		t.Fatalf("%v: %+v", err, absent)
	}
	for _, r := range absent {
		if r.Asked != absent[0].Cell.Hash {
			t.Errorf("%s does not say that %s was asked for", r.Cell.Target, absent[0].Cell.Target)
		}
	}
}
