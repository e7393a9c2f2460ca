package versus

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/measure"
)

// simulated is a machine that has slow minutes, which come and go, and on which each
// repeat has a level of its own.
type simulated struct {
	random *rand.Rand
	slow   float64
	order  []string
}

func (m *simulated) next() float64 {
	m.slow = 0.9*m.slow + 0.02*m.random.NormFloat64()
	return math.Exp(m.slow + 0.01*m.random.NormFloat64())
}

// fake is a trial on it.
type fake struct {
	on      *simulated
	name    string
	level   float64
	breaks  int // the repeat at which it fails; 0 is never
	medians [][]float64
	cell    cell.Cell
}

func (f *fake) Open() bool   { return f.breaks == 0 || len(f.medians) < f.breaks }
func (f *fake) Repeats() int { return measure.MinRepeats }
func (f *fake) Done() int    { return len(f.medians) }
func (f *fake) Repeat(context.Context) error {
	f.medians = append(f.medians, []float64{f.level * f.on.next()})
	f.on.order = append(f.on.order, f.name)
	return nil
}
func (f *fake) Medians(from int) [][]float64 { return f.medians[from:] }
func (f *fake) Result(from int, side string) cell.Result {
	r := cell.Result{Cell: f.cell, Side: side, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Thorough,
		Latency: &cell.Latency{SamplesMS: f.medians[from:], Stable: true}}
	if !f.Open() {
		r.Verdict, r.Failure, r.Latency = cell.Fails, &cell.Failure{Class: cell.Crash}, nil
	}
	return r
}

func arm(m *simulated, name string, level func(cell.Cell) float64) Arm {
	return func(_ context.Context, c cell.Cell) (Trial, error) {
		return &fake{on: m, name: name, level: level(c), cell: c}, nil
	}
}

func pairsOf(n int) []Pair {
	var out []Pair
	for i := range n {
		c := cell.Cell{Type: "bert", Batch: i + 1}.Normal()
		out = append(out, Pair{c, c})
	}
	return out
}

// run compares two levels of some cells on a simulated machine.
func run(t *testing.T, seed uint64, pairs int, ratio func(cell.Cell) float64) (compare.Report, *simulated, []cell.Result) {
	t.Helper()
	m := &simulated{random: rand.New(rand.NewPCG(seed, 7))}
	var recorded []cell.Result
	o := Options{Order: rand.New(rand.NewPCG(seed, 8)), Note: func(string) {}, Record: func(r cell.Result) error {
		recorded = append(recorded, r)
		return nil
	}}
	r, err := Run(t.Context(), arm(m, "a", func(cell.Cell) float64 { return 10 }), arm(m, "b", func(c cell.Cell) float64 { return 10 * ratio(c) }), pairsOf(pairs), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, m, recorded
}

// TestRun: a lone slow cell among twenty is found, in fresh repeats, though the
// machine wanders by far more than the change in the meantime; and nothing else is.
func TestRun(t *testing.T) {
	t.Parallel()
	found, others := 0, 0
	const tries = 40
	for seed := range uint64(tries) {
		r, _, recorded := run(t, seed, 20, func(c cell.Cell) float64 {
			if c.Batch == 7 {
				return 1.12
			}
			return 1
		})
		for _, s := range r.Speed {
			switch seven := slices.Contains(s.Cell.Settings, "batch 7"); {
			case s.Verdict == compare.Slower && seven:
				found++
				if s.First == nil || s.RepeatsA != measure.ConfirmRepeats {
					t.Errorf("a verdict without fresh repeats: %+v", s)
				}
			case s.Verdict == compare.Slower || s.Verdict == compare.Faster:
				others++
			}
		}
		if len(recorded) < 40 || recorded[0].Side != "a" || recorded[1].Side != "b" {
			t.Fatalf("%d results were recorded", len(recorded))
		}
	}
	if found < tries*9/10 || others > 1 {
		t.Errorf("found in %d of %d tries, %d false", found, tries, others)
	}
}

// TestInterleaved: no side has two repeats more than the other at any time, and either
// comes first as often.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	_, m, _ := run(t, 1, 3, func(cell.Cell) float64 { return 1 })
	ahead, first := 0, map[string]int{}
	for i, name := range m.order {
		if i%2 == 0 {
			first[name]++
		}
		ahead += map[string]int{"a": 1, "b": -1}[name]
		if ahead < -1 || ahead > 1 {
			t.Fatalf("one side is %d repeats ahead after %d", ahead, i+1)
		}
	}
	if first["a"] != first["b"] {
		t.Errorf("%v", first)
	}
	random, total := rand.New(rand.NewPCG(1, 1)), 0
	for range 1000 {
		for _, x := range Balanced(random, 3) {
			total += x
		}
	}
	if total < 1400 || total > 1600 {
		t.Errorf("with an odd number b comes first in %d of 3000 rounds", total)
	}
}

// TestFailingSide: a side that fails in a repeat is a verdict, and ends the pair.
func TestFailingSide(t *testing.T) {
	t.Parallel()
	m := &simulated{random: rand.New(rand.NewPCG(1, 7))}
	good := arm(m, "a", func(cell.Cell) float64 { return 10 })
	bad := func(_ context.Context, c cell.Cell) (Trial, error) {
		return &fake{on: m, name: "b", level: 10, breaks: 2, cell: c}, nil
	}
	r, err := Run(t.Context(), good, bad, pairsOf(1), Options{Note: func(string) {}, Record: func(cell.Result) error { return nil }})
	if err != nil || r.Outcome != compare.Regression || len(r.Turns) != 1 || r.Turns[0].Kind != compare.Broken || len(m.order) != 4 {
		t.Errorf("%v, %+v, %v", err, r.Turns, m.order)
	}
}

// TestFailingInFreshRepeats: a new side that breaks while a candidate is confirmed is a
// new failure, and what it ran until then decides nothing.
func TestFailingInFreshRepeats(t *testing.T) {
	t.Parallel()
	for _, breaks := range []int{7, 8, 16} { // the first fresh repeat, the second, the last
		m := &simulated{random: rand.New(rand.NewPCG(1, 7))}
		good := arm(m, "a", func(cell.Cell) float64 { return 10 })
		bad := func(_ context.Context, c cell.Cell) (Trial, error) {
			return &fake{on: m, name: "b", level: 20, breaks: breaks, cell: c}, nil
		}
		r, err := Run(t.Context(), good, bad, pairsOf(1), Options{Note: func(string) {}, Record: func(cell.Result) error { return nil }})
		if err != nil || r.Outcome != compare.Regression || len(r.Turns) != 1 || r.Turns[0].Kind != compare.Broken {
			t.Errorf("breaks in repeat %d: %v, %s, %+v", breaks, err, r.Outcome, r.Turns)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("breaks in repeat %d: %v", breaks, err)
		}
		if s := r.Speed[0]; breaks < 10 && (s.Verdict != compare.Candidate || s.RepeatsA != measure.MinRepeats || len(s.Warnings) == 0) {
			t.Errorf("breaks in repeat %d: %+v", breaks, s)
		}
	}
}

// TestAgain: the new side alone is run again, against what is stored.
func TestAgain(t *testing.T) {
	t.Parallel()
	m := &simulated{random: rand.New(rand.NewPCG(3, 7))}
	var ran []cell.Cell
	b := arm(m, "b", func(c cell.Cell) float64 { ran = append(ran, c); return 10 })
	wanted := []compare.Again{{A: cell.Cell{Type: "bert"}, B: cell.Cell{Type: "bert", DType: "bf16"}, MediansA: []float64{1, 2}}}
	fresh, err := Again(t.Context(), b, wanted, Options{Note: func(string) {}, Record: func(cell.Result) error { return nil }})
	if err != nil || len(fresh) != 1 || len(fresh[0].A) != 2 || len(fresh[0].B) != measure.ConfirmRepeats {
		t.Errorf("%v, %+v", err, fresh)
	}
	if len(ran) != 1 || ran[0].DType != "bf16" || fresh[0].Cell.DType != "" {
		t.Errorf("ran %+v for %+v", ran, fresh[0].Cell)
	}
}

// TestBoth: candidates get ten repeats a side, interleaved, each side its own cell.
func TestBoth(t *testing.T) {
	t.Parallel()
	m := &simulated{random: rand.New(rand.NewPCG(3, 7))}
	n := 0
	level := func(typ string) func(cell.Cell) float64 {
		return func(c cell.Cell) float64 {
			if !strings.HasPrefix(c.Type, typ) {
				t.Errorf("side %s ran %s", typ, c.Type)
			}
			return 10
		}
	}
	wanted := []compare.Again{{A: cell.Cell{Type: "a1"}, B: cell.Cell{Type: "b1"}}, {A: cell.Cell{Type: "a2"}, B: cell.Cell{Type: "b2"}}}
	fresh, err := Both(t.Context(), arm(m, "a", level("a")), arm(m, "b", level("b")), wanted,
		Options{Note: func(string) {}, Record: func(cell.Result) error { n++; return nil }})
	if err != nil || len(fresh) != 2 || len(fresh[1].A) != measure.ConfirmRepeats || len(fresh[1].B) != measure.ConfirmRepeats || n != 4 {
		t.Errorf("%v, %d recorded, %+v", err, n, fresh)
	}
}
