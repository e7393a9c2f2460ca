package lab

import (
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/runner"
)

const triedAgain = "tried again with ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16 after an illegal instruction (SIGILL)"

// twice is a runner whose child says something wrong and dies, and whose second
// one does what a function says.
func twice(then func(int, runner.Job, func(runner.Event)) (runner.Exit, error)) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		on(runner.Phase{Name: "build", MS: 1e6})
		on(runner.PointDone{Index: 0, Report: []byte(`{"finite":false}`)})
		on(runner.Failure{Type: "RuntimeError", Message: "said by the dead"})
		on(runner.Again{Why: triedAgain})
		return then(n, job, on)
	}
}

// A child that was tried again leaves nothing of the dead one in its result,
// which says that it was.
func TestTheDeadChildIsForgotten(t *testing.T) {
	t.Parallel()
	for _, timing := range []cell.Timing{cell.Functional, cell.Quick} {
		rs, _, err := carry(t, &script{do: twice(good)}, bench{}, cell.Plan{Timing: timing, Cells: []cell.Cell{{Type: "x"}}})
		if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Works || rs[0].Failure != nil {
			t.Fatalf("%s: %+v, %v", timing, rs, err)
		}
		if n := strings.Count(rs[0].Note, triedAgain); n != 1 {
			t.Errorf("%s: the note says it %d times: %q", timing, n, rs[0].Note)
		}
		if rs[0].PhasesMS["build"] != 0 {
			t.Errorf("%s: the dead child's phases are in the result: %v", timing, rs[0].PhasesMS)
		}
	}
}

// A second death is the result, with the note and a hint that names what helps.
func TestASecondDeathIsTheResult(t *testing.T) {
	t.Parallel()
	died := func(int, runner.Job, func(runner.Event)) (runner.Exit, error) { return runner.Exit{Signal: 4}, nil }
	rs, _, err := carry(t, &script{do: twice(died)}, bench{}, cell.Plan{Cells: []cell.Cell{{Type: "x"}}})
	if err != nil || len(rs) != 1 || rs[0].Verdict != cell.Fails || rs[0].Failure.Class != cell.Crash {
		t.Fatalf("%+v, %v", rs, err)
	}
	if !strings.Contains(rs[0].Note, triedAgain) || !strings.Contains(rs[0].Failure.Hint, "ONEDNN_MAX_CPU_ISA") {
		t.Errorf("note %q, hint %q", rs[0].Note, rs[0].Failure.Hint)
	}
}

// kept is a machine whose processor is kept from something at a level.
type kept struct{ bench }

func (k kept) Presence(t platform.Target) Presence {
	p := k.bench.Presence(t)
	p.Restricted = func(level string) string {
		if level == "" {
			return ""
		}
		return "AMX is off"
	}
	return p
}

// at is a runner whose n-th job runs at a level.
func at(levels ...string) func(int, runner.Job, func(runner.Event)) (runner.Exit, error) {
	return func(n int, job runner.Job, on func(runner.Event)) (runner.Exit, error) {
		on(runner.AtLevel{Level: levels[min(n, len(levels))-1]})
		return good(n, job, on)
	}
}

// A result says what its own child was kept from, whatever the host has learnt
// by the time it is written; a repeat that was kept from more than the check says
// so once.
func TestResultsSayWhatIsOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		levels []string
		timing cell.Timing
		want   string
	}{
		"none":        {[]string{""}, cell.Functional, ""},
		"lowered":     {[]string{"AVX2"}, cell.Functional, "AMX is off"},
		"in a repeat": {[]string{"", "AVX2"}, cell.Quick, "AMX is off"},
		"in both":     {[]string{"AVX2"}, cell.Quick, "AMX is off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, _, err := carry(t, &script{do: at(c.levels...)}, kept{}, cell.Plan{Timing: c.timing, Cells: []cell.Cell{{Type: "x"}}})
			if err != nil || len(rs) != 1 || strings.Count(rs[0].Note, "AMX") != strings.Count(c.want, "AMX") {
				t.Errorf("%+v, %v", rs, err)
			}
		})
	}
	// The level of the child that lived counts, and a failure says it too.
	died := func(_ int, _ runner.Job, on func(runner.Event)) (runner.Exit, error) {
		on(runner.AtLevel{})
		on(runner.Again{Why: triedAgain})
		on(runner.AtLevel{Level: "AVX2"})
		return runner.Exit{Signal: 4}, nil
	}
	rs, _, err := carry(t, &script{do: died}, kept{}, cell.Plan{Cells: []cell.Cell{{Type: "x"}}})
	if err != nil || len(rs) != 1 || !strings.Contains(rs[0].Note, "AMX is off") {
		t.Errorf("%+v, %v", rs, err)
	}
}
