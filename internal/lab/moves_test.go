package lab

import (
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/runner"
)

func bytesOf(n int64) *int64 { return &n }

func judgedMoves(change func(*cell.Moves)) (cell.Verdict, string) {
	yes := true
	m := cell.Moves{Rounds: 3, WeightsSame: true, HomeSame: &yes, ThereSame: &yes, ModelBytes: 1 << 20, SlackBytes: 1 << 16,
		LeftBytes: []*int64{bytesOf(0), bytesOf(-8), bytesOf(512)}, Control: &cell.KeptMemory{KeptBytes: 70000, SeenBytes: 70000, Pass: true}}
	change(&m)
	c := cell.Cell{Type: "bert", Target: "cuda", Special: cell.Special{Scenario: cell.Moving}}.Normal()
	v, note, f := verdict(c, runner.Report{Moves: &runner.Moves{Moves: m}, Numerics: &cell.Numerics{Pass: true}})
	if f != nil {
		return v, string(f.Class) + ": " + f.Detail + " " + f.Hint
	}
	return v, note
}

// TestVerdictOfMoves: what a move may do to a model, and what each makes of the verdict.
func TestVerdictOfMoves(t *testing.T) {
	t.Parallel()
	no := false
	for name, x := range map[string]struct {
		change func(*cell.Moves)
		want   cell.Verdict
		says   string
	}{
		"whole":           {func(*cell.Moves) {}, cell.Works, ""},
		"weights":         {func(m *cell.Moves) { m.WeightsSame = false }, cell.Fails, "wrong-output: after 3 moves to the device and back the weights have other bits"},
		"at home":         {func(m *cell.Moves) { m.HomeSame = &no }, cell.Fails, "wrong-output: on the CPU the model gives bits other than before"},
		"there":           {func(m *cell.Moves) { m.ThereSame = &no }, cell.Fails, "wrong-output: on the device the model gives other bits"},
		"kept in a round": {func(m *cell.Moves) { m.LeftBytes[1] = bytesOf(1 << 17) }, cell.Fails, "model-error: memory stays on the device once the model is back: 131072 bytes, of a model of 1048576 Look for what keeps tensors"},
		"slack":           {func(m *cell.Moves) { m.LeftBytes[1] = bytesOf(1 << 16) }, cell.Works, ""},
		"no counter":      {func(m *cell.Moves) { m.LeftBytes[1] = nil }, cell.Partial, "nothing tells how much of the device is in use"},
		"deaf counter":    {func(m *cell.Moves) { m.Control.Pass = false }, cell.Partial, "70000 bytes that were kept on the device were not noticed"},
		"never the same":  {func(m *cell.Moves) { m.ThereSame = nil }, cell.Partial, "it gives other bits each time without a move, too"},
	} {
		got, said := judgedMoves(x.change)
		if got != x.want || !strings.Contains(said, x.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, got, said, x.want, x.says)
		}
	}
}

// TestMovesAreFilledIn: the two ways come from the repeats, and a round trip is
// no inference that could be counted a second.
func TestMovesAreFilledIn(t *testing.T) {
	t.Parallel()
	run := pointRun{Report: runner.Report{SamplesMS: []float64{3, 3, 3}, Moves: &runner.Moves{PartsMS: map[string][]float64{"to_device": {2, 2, 2}, "back": {1, 1, 1}}}}}
	s := cell.Settings{Batch: 4}
	r := cell.Result{Cell: cell.Cell{Special: cell.Special{Scenario: cell.Moving}}, Actual: &s, Moves: &cell.Moves{ToMS: 9, Untied: 2}}
	fill(&r, []pointRun{run, run})
	if r.Throughput != nil || r.Moves.Parts["to_device"].Median != 2 || r.Moves.Parts["back"].Median != 1 || r.Moves.ToMS != 9 {
		t.Errorf("%+v, throughput %v", r.Moves, r.Throughput)
	}
	if said := untied(r.Moves); !strings.Contains(said, "parts 2 tensors") {
		t.Errorf("%q", said)
	}
}
