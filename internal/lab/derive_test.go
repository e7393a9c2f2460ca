package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

// known is a machine with a CPU, on which mps and rocm are known by their
// operators.
type known struct{ bench }

func (k known) Presence(t platform.Target) Presence {
	here := k.bench.Presence(t)
	here.Derives = !here.Present && t.Derives()
	return here
}

// tells answers derive jobs with a verdict for each platform, and runs the rest.
func tells(targets string) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		if job.Kind != runner.DeriveJob {
			return good(n, job, on)
		}
		calls := 479
		if strings.Contains(targets, "same dtype") {
			calls = 0
		}
		on(runner.Data{Data: fmt.Appendf(nil, `{"torch":"2.15.0","method":"shapes","dtype":"float32","calls":%d,"operators":16,"targets":%s}`, calls, targets)})
		return runner.Exit{}, nil
	}
}

const worksOnBoth = `{"mps":{"verdict":"works"},"rocm":{"verdict":"works"}}`

func of(rs []cell.Result, target string) cell.Result {
	i := slices.IndexFunc(rs, func(r cell.Result) bool { return r.Cell.Target == target })
	if i < 0 {
		return cell.Result{}
	}
	return rs[i]
}

func TestDerivedWhereItIsNot(t *testing.T) {
	t.Parallel()
	const fails = `{"mps":{"verdict":"fails","class":"unsupported-operator","operators":[{"operator":"aten.mode.default","why":"no kernel","count":3}]}}`
	const partly = `{"mps":{"verdict":"partial","operators":[{"operator":"aten.linalg_svd.default","why":"falls back","count":2}]}}`
	const mismatch = `{"mps":{"verdict":"fails","class":"unsupported-dtype","operators":[],"why":"mat1 and mat2 must have the same dtype"}}`
	for _, c := range []struct {
		name, targets string
		verdict       cell.Verdict
		evidence      cell.Evidence
		class         cell.FailureClass
		says, note    string
	}{
		{"works", worksOnBoth, cell.Works, cell.Derived, "", "", "479 calls of 16 operators against the kernels that torch 2.15.0 has for mps; not run: no such device"},
		{"fails", fails, cell.Fails, cell.Derived, cell.UnsupportedOperator, "aten.mode.default ×3: no kernel", "not run: no such device"},
		{"partly", partly, cell.Partial, cell.Derived, "", "", "aten.linalg_svd.default ×2: falls back would run on the CPU"},
		{"dtype", mismatch, cell.Fails, cell.Derived, cell.UnsupportedDType, "same dtype", "traced in float32 by torch 2.15.0, fails on every device; not run"},
		{"unseen", `{"mps":{"verdict":null,"why":"it looks at a value"}}`, cell.Unavailable, cell.None, "", "", "no verdict could be derived: it looks at a value"},
		{"no answer", `{}`, cell.Unavailable, cell.None, "", "", "the runner gave none"},
		{"nonsense", `{"mps":{"verdict":"perhaps"}}`, cell.Unavailable, cell.None, "", "", "no verdict could be derived"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rs, _, err := carry(t, &script{do: tells(c.targets)}, known{}, cells(cell.Cell{Type: "x", Platform: platform.MPS}))
			if err != nil || len(rs) != 2 {
				t.Fatalf("%d results, %v", len(rs), err)
			}
			r := of(rs, "mps")
			if r.Verdict != c.verdict || r.Evidence != c.evidence || !strings.Contains(r.Note, c.note) {
				t.Errorf("%s, %s: %q", r.Verdict, r.Evidence, r.Note)
			}
			if f := r.Failure; (f != nil) != (c.class != "") || f != nil && (f.Class != c.class || !strings.Contains(f.Detail, c.says) || f.Hint == "") {
				t.Errorf("failure %+v", f)
			}
			if r.Actual != nil || r.Latency != nil || r.Fallback == nil || r.Fallback.To != "cpu" || r.Cell.Class != "XModel" {
				t.Errorf("what was derived ran, or is not linked with what ran: %+v", r)
			}
			if ran := of(rs, "cpu"); ran.Verdict != cell.Works || ran.Evidence != cell.Measured || ran.Fallback.From != "mps" {
				t.Errorf("the fallback's own result: %+v", ran)
			}
		})
	}
}

// One trace serves all platforms of a model, and each gets its own verdict.
func TestDerivedOnceForAModel(t *testing.T) {
	t.Parallel()
	s := &script{do: tells(`{"mps":{"verdict":"partial","operators":[{"operator":"o","count":1}]},"rocm":{"verdict":"works"}}`)}
	plan := cells(cell.Cell{Type: "x", Platform: platform.MPS}, cell.Cell{Type: "x", Platform: platform.ROCm}, cell.Cell{Type: "y", Platform: platform.ROCm})
	plan.NoFallback = true
	rs, _, err := carry(t, s, known{}, plan)
	if err != nil || len(rs) != 3 || len(s.jobs) != 2 {
		t.Fatalf("%d results of %d children, %v", len(rs), len(s.jobs), err)
	}
	if of(rs, "mps").Verdict != cell.Partial || of(rs, "rocm").Verdict != cell.Works || of(rs, "rocm").Fallback != nil {
		t.Errorf("%+v", rs)
	}
	both := slices.IndexFunc(s.jobs, func(j runner.Job) bool { return j.Cell.Type == "x" })
	if got := s.jobs[both].Options["platforms"]; !slices.Equal(got.([]string), []string{"mps", "rocm"}) {
		t.Errorf("asked for %v", got)
	}
}

// Who asks for the hardware itself, or for times, is told that it is not here.
func TestNothingIsDerivedOfHardwareOrTimes(t *testing.T) {
	t.Parallel()
	strict, timed := cells(cell.Cell{Type: "x", Platform: platform.MPS}), cells(cell.Cell{Type: "x", Platform: platform.MPS})
	strict.Strict, timed.Timing, timed.NoFallback = true, cell.Quick, true
	for _, plan := range []cell.Plan{strict, timed} {
		s := &script{do: tells(worksOnBoth)}
		rs, _, err := carry(t, s, known{}, plan)
		if err != nil || len(rs) != 1 || len(s.jobs) != 0 || rs[0].Verdict != cell.Unavailable || rs[0].Evidence != cell.None {
			t.Errorf("%d children, %v: %+v", len(s.jobs), err, rs)
		}
	}
}

// A child that dies, or a runner that is lost, costs the verdict and not the plan.
func TestDerivingMayFail(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(int, runner.Job, func(runner.Event)) (runner.Exit, error){
		"ended by signal 11": func(int, runner.Job, func(runner.Event)) (runner.Exit, error) { return runner.Exit{Signal: 11}, nil },
		"ImportError":        raise(nil, "ImportError", "no torchgen"),
		"lost": func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
			return runner.Exit{}, errors.New("lost")
		},
	} {
		plan := cells(cell.Cell{Type: "x", Platform: platform.ROCm})
		plan.NoFallback = true
		rs, _, err := carry(t, &script{do: do}, known{}, plan)
		if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Unavailable || !strings.Contains(rs[0].Note, name) {
			t.Errorf("%s: %v, %+v", name, err, rs)
		}
	}
	rs, _, err := carry(t, &script{do: good}, known{}, cells(cell.Cell{Type: "unheard-of", Platform: platform.ROCm}))
	if r := of(rs, "rocm"); err != nil || r.Verdict != cell.Unavailable || !strings.Contains(r.Note, "there is no recipe") {
		t.Errorf("%v, %+v", err, r)
	}
	gone := func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
		return runner.Exit{}, &runner.GaveUpError{}
	}
	if _, _, err := carry(t, &script{do: gone}, known{}, cells(cell.Cell{Type: "x", Platform: platform.ROCm})); err == nil {
		t.Error("a plan went on without a runner")
	}
}
