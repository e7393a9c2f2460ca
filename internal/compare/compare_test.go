package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/measure"
	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var here = cell.Host{ID: "h1", CPU: "Xeon", Cores: 2, Machine: &cell.Machine{System: "linux/amd64", CPU: "Xeon", CPUs: 4, MemoryGiB: 16, Devices: []string{"H200"}, Driver: "cuda 570.1"}}

type change func(*Entry)

// entry is a timed result of bert on a target, with one change or more.
func entry(changes ...change) Entry {
	e := Entry{Run: "run", Host: here, Result: &cell.Result{
		Cell: cell.Cell{Type: "bert", Family: "encoder-only"}.Normal(), SubjectHash: "s", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Thorough,
		Numerics:  &cell.Numerics{MaxRel: number(1e-6), Tolerance: 1e-3, Reference: "cpu fp64", Pass: true},
		Placement: &cell.Placement{Device: "cpu"},
		Latency:   &cell.Latency{SamplesMS: [][]float64{{10}, {10.1}, {9.9}, {10}, {10.05}, {9.95}}, Stable: true},
		Context:   cell.Context{Versions: map[string]string{"torch": "2.15.0"}, PowerSource: "mains"},
		StartedAt: time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC),
	}}
	for _, c := range changes {
		c(&e)
	}
	return e
}

func number(v float64) *float64 { return &v }

func on(target string) change {
	return func(e *Entry) {
		t, _ := platform.ParseTarget(target)
		e.Result.Cell = e.Result.Cell.On(t)
	}
}

func says(v cell.Verdict, ev cell.Evidence) change {
	return func(e *Entry) { e.Result.Verdict, e.Result.Evidence = v, ev }
}

func fails(class cell.FailureClass) change {
	return func(e *Entry) {
		e.Result.Verdict, e.Result.Failure, e.Result.Latency = cell.Fails, &cell.Failure{Class: class, Detail: "it broke"}, nil
	}
}

func scaled(by float64) change {
	return func(e *Entry) {
		for _, r := range e.Result.Latency.SamplesMS {
			for i := range r {
				r[i] *= by
			}
		}
	}
}

func elsewhere(n int) change {
	return func(e *Entry) {
		e.Result.Placement = &cell.Placement{Device: "cpu", LeftOver: []cell.LeftOver{{Operator: "Gather", Count: n, Where: "CPU"}}}
	}
}

func side(name string, entries ...Entry) Side { return Side{Name: name, Kind: "run", Entries: entries} }

// TestTurns: what is said of each way in which a verdict, its evidence, its
// placement or its numbers can change, and what it comes to.
func TestTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b    Entry
		kinds   []Kind
		outcome Outcome
	}{
		"the same":          {entry(), entry(), nil, Same},
		"broken":            {entry(), entry(fails(cell.Crash)), []Kind{Broken}, Regression},
		"fixed":             {entry(fails(cell.Crash)), entry(), []Kind{Fixed}, Same},
		"fails otherwise":   {entry(fails(cell.Crash)), entry(fails(cell.Timeout)), []Kind{Otherwise}, Same},
		"fails as before":   {entry(fails(cell.Crash)), entry(fails(cell.Crash)), nil, Same},
		"lost":              {entry(), entry(says(cell.Unavailable, cell.None)), []Kind{Lost}, Regression},
		"partly":            {entry(), entry(says(cell.Partial, cell.Measured)), []Kind{Lesser}, Regression},
		"wholly":            {entry(says(cell.Partial, cell.Measured)), entry(), []Kind{Whole}, Same},
		"only derived":      {entry(), entry(says(cell.Works, cell.Derived)), []Kind{Weaker}, Regression},
		"derived to fail":   {entry(), entry(fails(cell.UnsupportedOperator), says(cell.Fails, cell.Derived)), []Kind{Weaker}, Regression},
		"measured now":      {entry(says(cell.Works, cell.Derived)), entry(), []Kind{Stronger}, Same},
		"emulated now":      {entry(), entry(says(cell.Works, cell.Emulated)), []Kind{Weaker}, Regression},
		"moved":             {entry(), entry(elsewhere(3)), []Kind{Moved}, Regression},
		"returned":          {entry(elsewhere(3)), entry(elsewhere(1)), []Kind{Returned}, Same},
		"less accurate":     {entry(), entry(func(e *Entry) { e.Result.Numerics.MaxRel = number(1e-4) }), []Kind{LessRight}, Regression},
		"more accurate":     {entry(func(e *Entry) { e.Result.Numerics.MaxRel = number(1e-4) }), entry(), []Kind{MoreRight}, Same},
		"rounds otherwise":  {entry(), entry(func(e *Entry) { e.Result.Numerics.MaxRel = number(9e-6) }), nil, Same},
		"other weights":     {entry(), entry(func(e *Entry) { e.Result.Numerics.MaxRel = number(1e-4); e.Result.SubjectHash = "t" }), nil, Nothing},
		"the machine broke": {entry(), entry(fails(cell.Environment)), nil, Nothing},
		"unavailable twice": {entry(says(cell.Unavailable, cell.None)), entry(says(cell.Unavailable, cell.None)), nil, Nothing},
	} {
		r := Compare(side("a", c.a), side("b", c.b), Options{})
		var kinds []Kind
		for _, x := range r.Turns {
			kinds = append(kinds, x.Kind)
		}
		if d := cmp.Diff(c.kinds, kinds); d != "" || r.Outcome != c.outcome {
			t.Errorf("%s: outcome %s, want %s; %s", name, r.Outcome, c.outcome, d)
		}
	}
}

// TestRefused: each field that keeps cells apart is named, and may be allowed to differ.
func TestRefused(t *testing.T) {
	t.Parallel()
	other := func(changes func(*cell.Machine)) change {
		return func(e *Entry) {
			m := *here.Machine
			changes(&m)
			e.Host.Machine, e.Host.ID = &m, "h2"
		}
	}
	for field, b := range map[string]change{
		"host":            other(func(m *cell.Machine) { m.CPU, m.MemoryGiB = "EPYC", 64 }),
		"driver":          func(e *Entry) { on("cuda")(e); other(func(m *cell.Machine) { m.Driver = "cuda 575.2" })(e) },
		"files":           func(e *Entry) { e.Result.Content = "d2" },
		"weights":         func(e *Entry) { e.Result.Loaded = &cell.Loaded{Digest: "w2"} },
		"subject":         func(e *Entry) { e.Result.SubjectHash = "t" },
		"timing":          func(e *Entry) { e.Result.Timing = cell.Quick },
		"actual settings": func(e *Entry) { e.Result.Actual = &cell.Settings{DType: "bf16", Batch: 1} },
		"clock":           func(e *Entry) { e.Result.Latency.Sync = "host-dispatch only" },
		"inputs inside":   func(e *Entry) { e.Result.Context.InputsInside = "with copies" },
		"power":           func(e *Entry) { e.Result.Context.PowerSource = "battery" },
	} {
		a := entry(func(e *Entry) {
			e.Result.Content, e.Result.Loaded, e.Result.Context.InputsInside = "d1", &cell.Loaded{Digest: "w1"}, "forward only"
			e.Result.Actual = &cell.Settings{DType: "fp32", Batch: 1}
		})
		is := entry(func(e *Entry) {
			e.Result.Content, e.Result.Loaded, e.Result.Context.InputsInside = "d1", &cell.Loaded{Digest: "w1"}, "forward only"
			e.Result.Actual = &cell.Settings{DType: "fp32", Batch: 1}
		}, b)
		if field == "driver" {
			on("cuda")(&a)
		}
		r := Compare(side("a", a), side("b", is), Options{})
		if len(r.Refused) != 1 || r.Refused[0].Field != field || r.Refused[0].A == r.Refused[0].B || r.Outcome != Nothing || len(r.Speed) != 0 {
			t.Errorf("%s: %s, %+v", field, r.Outcome, r.Refused)
		}
		allowed := strings.ReplaceAll(field, " ", "-")
		if err := CheckAcross([]string{allowed}); err != nil {
			t.Error(err)
		}
		r = Compare(side("a", a), side("b", is), Options{Across: []string{allowed}})
		if len(r.Refused) != 0 || len(r.Speed) != 1 || r.Outcome != Same {
			t.Errorf("%s, allowed: %s, %+v", field, r.Outcome, r.Refused)
		}
		if !slices.ContainsFunc(r.Context, func(d Differs) bool { return d.Field == field }) {
			t.Errorf("%s, allowed: it is not listed: %+v", field, r.Context)
		}
	}
	if err := CheckAcross([]string{"weather"}); err == nil || !strings.Contains(err.Error(), "the fields that may differ are target") {
		t.Error(err)
	}
}

// TestHostsAreNamedByFacts: the reason says what of the machine differs, and results
// of one machine are found among those of several.
func TestHostsAreNamedByFacts(t *testing.T) {
	t.Parallel()
	far := entry(func(e *Entry) {
		m := *here.Machine
		m.CPU, m.Devices = "EPYC", nil
		e.Host = cell.Host{ID: "h2", Machine: &m}
		e.Result.StartedAt = e.Result.StartedAt.Add(time.Hour)
	})
	r := Compare(side("a", entry()), side("b", far), Options{})
	if len(r.Refused) != 1 || r.Refused[0].A != "CPU Xeon, devices H200" || r.Refused[0].B != "CPU EPYC, devices none" {
		t.Errorf("%+v", r.Refused)
	}
	r = Compare(side("a", entry()), side("b", far, entry()), Options{})
	if len(r.Refused) != 0 || r.Compared != 1 || r.Outcome != Same {
		t.Errorf("%+v", r)
	}
	moved := entry(func(e *Entry) { e.Host.ID, e.Host.Kernel, e.Host.Cores = "container", "7.0", 1 })
	if r := Compare(side("a", entry()), side("b", moved), Options{}); r.Outcome != Same || len(r.Refused) != 0 {
		t.Errorf("another id of the same machine: %+v", r.Refused)
	}
}

// TestContext: what differs and does not matter is listed once, with its number.
func TestContext(t *testing.T) {
	t.Parallel()
	newer := func(e *Entry) {
		e.Result.Context.Versions, e.Result.Context.Threads = map[string]string{"torch": "2.16.0"}, 4
	}
	r := Compare(side("a", entry(), entry(on("openvino"))), side("b", entry(newer), entry(on("openvino"), newer)), Options{})
	want := []Differs{{"torch", "2.15.0", "2.16.0", 2}, {"threads used", "", "4", 2}}
	if d := cmp.Diff(want, r.Context); d != "" {
		t.Error(d)
	}
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	few := func(e *Entry) { e.Result.Latency.SamplesMS = e.Result.Latency.SamplesMS[:3] }
	one := func(e *Entry) { e.Result.Latency.SamplesMS = e.Result.Latency.SamplesMS[:1] }
	wild := func(e *Entry) { e.Result.Latency.SamplesMS = [][]float64{{8}, {14}, {9}, {13}, {12}, {11}} }
	for name, c := range map[string]struct {
		b       Entry
		a       Entry
		verdict SpeedVerdict
		outcome Outcome
	}{
		"the same":    {entry(), entry(), Equal, Same},
		"1 % slower":  {entry(scaled(1.01)), entry(), Equal, Same},
		"10 % slower": {entry(scaled(1.1)), entry(), Slower, Regression},
		"10 % faster": {entry(scaled(0.9)), entry(), Faster, Same},
		"wild":        {entry(wild), entry(), Unclear, Same},
		"three":       {entry(few, scaled(1.2)), entry(few), Candidate, Same},
		"one":         {entry(one, scaled(1.2)), entry(one), Untold, Same},
	} {
		r := Compare(side("a", c.a), side("b", c.b), Options{})
		if len(r.Speed) != 1 || r.Speed[0].Verdict != c.verdict || r.Outcome != c.outcome {
			t.Errorf("%s: %s, %+v", name, r.Outcome, r.Speed)
		}
	}
	for name, e := range map[string]Entry{
		"emulated": entry(says(cell.Works, cell.Emulated)), "functional": entry(func(e *Entry) { e.Result.Timing = cell.Functional }),
	} {
		if r := Compare(side("a", e), side("b", e), Options{}); len(r.Speed) != 0 || r.Outcome != Same {
			t.Errorf("%s: times that do not count were compared: %+v", name, r.Speed)
		}
	}
}

// TestAcrossTargets: cells of two targets are matched where that was asked for.
func TestAcrossTargets(t *testing.T) {
	t.Parallel()
	a, b := side("cpu", entry()), side("openvino", entry(on("openvino"), scaled(0.5)))
	if r := Compare(a, b, Options{}); r.Outcome != Nothing || len(r.OnlyA) != 1 || len(r.OnlyB) != 1 {
		t.Errorf("%+v", r)
	}
	r := Compare(a, b, Options{Across: []string{"target"}})
	if len(r.Speed) != 1 || r.Speed[0].Verdict != Faster || r.Speed[0].Cell.String() != "bert on cpu → openvino, fp32" {
		t.Errorf("%+v", r.Speed)
	}
	if m := r.Means[len(r.Means)-1]; m.By != "platform" || m.Name != "cpu → openvino" {
		t.Errorf("%+v", r.Means)
	}
	if again := r.Candidates(); len(again) != 1 || again[0].A.Platform != "cpu" || again[0].B.Platform != "openvino" || len(again[0].MediansA) != 6 {
		t.Errorf("%+v", again)
	}
}

// TestNamedOnBothSides: what is not alike on the two sides stands in the cell's name.
func TestNamedOnBothSides(t *testing.T) {
	t.Parallel()
	with := func(c cell.Cell) change { return func(e *Entry) { e.Result.Cell = c.Normal() } }
	for want, cells := range map[string][2]cell.Cell{
		"bert on cpu, fp32":                                {{Type: "bert"}, {Type: "bert"}},
		"bert → vit on cpu, fp32":                          {{Type: "bert"}, {Type: "vit"}},
		"bert on cpu, fp32 → bf16":                         {{Type: "bert"}, {Type: "bert", DType: "bf16"}},
		"bert on cpu, fp32, threads 1 → threads 2":         {{Type: "bert", Threads: 1}, {Type: "bert", Threads: 2}},
		"bert on cpu, fp32, batch 4, as it is → threads 2": {{Type: "bert", Batch: 4}, {Type: "bert", Batch: 4, Threads: 2}},
	} {
		r := OfPairs([]Pair{{entry(with(cells[0])), entry(with(cells[1]))}}, Options{})
		if got := r.Speed[0].Cell.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLoneChange: one change among many cells is a candidate that six repeats cannot
// show; fresh ones do. What they do not bear out is refuted.
func TestLoneChange(t *testing.T) {
	t.Parallel()
	var a, b []Entry
	for i := range 100 {
		sized := func(e *Entry) { e.Result.Cell.Batch = i + 1; e.Result.Cell = e.Result.Cell.Normal() }
		a, b = append(a, entry(sized)), append(b, entry(sized))
	}
	scaled(1.1)(&b[4])
	scaled(1.2)(&b[5])
	r := Compare(side("a", a...), side("b", b...), Options{})
	if r.Outcome != Same || count2(r, Candidate) != 2 || len(r.Candidates()) != 2 || r.Candidates()[0].A.Family != "encoder-only" {
		t.Fatalf("%s: %d candidates, %v", r.Outcome, count2(r, Candidate), r.Candidates())
	}
	repeats := func(level float64) (out [][]float64) {
		for i := range measure.ConfirmRepeats {
			out = append(out, []float64{level * (1 + 0.001*float64(i))})
		}
		return out
	}
	r.Confirm([]Fresh{{Cell: a[4].Result.Cell, A: repeats(10), B: repeats(11)}, {Cell: a[5].Result.Cell, A: repeats(10), B: repeats(10.05)}}, Options{})
	if r.Outcome != Regression || count2(r, Slower) != 1 || count2(r, Refuted) != 1 || count2(r, Candidate) != 0 {
		t.Errorf("%s: %+v", r.Outcome, r.Speed[:3])
	}
	s := r.Speed[0]
	if s.First == nil || s.First.RepeatsA != 6 || s.RepeatsA != 10 || *s.Adjusted > 0.001 || !r.Footer.Confirmed {
		t.Errorf("%+v", s)
	}
}

func count2(r Report, v SpeedVerdict) int {
	n := 0
	for _, s := range r.Speed {
		if s.Verdict == v {
			n++
		}
	}
	return n
}

// TestTooFewFreshRepeats: with too few fresh repeats to show anything a candidate stays
// one, as the screen saw it, and its numbers can be written.
func TestTooFewFreshRepeats(t *testing.T) {
	t.Parallel()
	three := func(e *Entry) { e.Result.Latency.SamplesMS = e.Result.Latency.SamplesMS[:3] }
	for _, f := range []Fresh{{}, {A: [][]float64{{1}, {1}}, B: [][]float64{{1}, {1}}}, {A: slices.Repeat([][]float64{{1}}, 10)}} {
		r := Compare(side("a", entry(three)), side("b", entry(three, scaled(1.2))), Options{})
		f.Cell = r.Candidates()[0].A
		r.Confirm([]Fresh{f}, Options{})
		s := r.Speed[0]
		if s.Verdict != Candidate || s.First != nil || s.RepeatsA != 3 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "too few to decide") {
			t.Errorf("%d against %d: %+v", len(f.A), len(f.B), s)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}

// TestZeroTimes: times that a coarse clock could not tell from none are told, and have no
// ratio.
func TestZeroTimes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]change{
		"zero": func(e *Entry) { e.Result.Latency.SamplesMS = [][]float64{{0}, {1}, {1}} },
		"none": func(e *Entry) { e.Result.Latency.SamplesMS = nil },
	} {
		second := func(e *Entry) { e.Run = "second" }
		for _, sides := range [][2]Side{
			{side("a", entry(change)), side("b", entry(second))}, {side("a", entry()), side("b", entry(second, change))}, {side("a", entry(change)), side("b", entry(second, change))},
		} {
			r := Compare(sides[0], sides[1], Options{})
			if r.Outcome != Nothing || len(r.Speed) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1 cell is not compared by speed") {
				t.Errorf("%s: %s, %+v, %q", name, r.Outcome, r.Speed, r.Notes)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestLeftOut: cells of which a side says nothing are counted.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	gone, second := says(cell.Unavailable, cell.None), func(e *Entry) { e.Run = "second" }
	r := Compare(side("a", entry(), entry(on("cuda")), entry(on("openvino"), gone)),
		side("b", entry(second), entry(second, on("cuda"), fails(cell.Environment)), entry(second, on("openvino"), gone)), Options{})
	want := []string{"1 cell is not compared: a side's machine broke, which says nothing about the model", "1 cell is not compared: neither side could run it"}
	if d := cmp.Diff(want, r.Notes); d != "" || r.Compared != 1 || r.Outcome != Same {
		t.Errorf("%d compared, %s: %s", r.Compared, r.Outcome, d)
	}
}

// TestSidesOfARun: the two sides of a run ran at the same time, and of each cell what it
// ran last counts.
func TestSidesOfARun(t *testing.T) {
	t.Parallel()
	of := func(letter string) change { return func(e *Entry) { e.Result.Side = letter } }
	later := func(e *Entry) { e.Result.StartedAt = e.Result.StartedAt.Add(time.Minute) }
	a := side("r#a", entry(of("a"), scaled(2)), entry(of("a"), later))
	b := side("r#b", entry(of("b"), later), entry(of("b"), scaled(3)))
	if r := Compare(a, b, Options{Stored: true}); r.Footer.Stored || r.Speed[0].Ratio != 1 {
		t.Errorf("%+v, ratio %v", r.Footer, r.Speed[0].Ratio)
	}
	if r := Compare(a, side("b", entry(func(e *Entry) { e.Run = "another" })), Options{Stored: true}); !r.Footer.Stored {
		t.Error("two runs are one")
	}
}

// TestMixedSides: a run named without #a or #b is told to have two sides, where one hides the other.
func TestMixedSides(t *testing.T) {
	t.Parallel()
	of := func(letter string) change { return func(e *Entry) { e.Result.Side = letter } }
	batch := func(e *Entry) { e.Result.Cell.Batch = 8; e.Result.Cell = e.Result.Cell.Normal() }
	with := "r has both sides of 1 of its cells, from a run that compared two: the newest counts; name run#a or run#b to take one side"
	for name, c := range map[string]struct {
		entries []Entry
		said    bool
	}{
		"both sides of a cell":  {[]Entry{entry(of("a")), entry(of("b"))}, true},
		"one side, twice":       {[]Entry{entry(of("a")), entry(of("a"))}, false},
		"sides of other cells":  {[]Entry{entry(of("a")), entry(of("b"), batch)}, false},
		"no sides":              {[]Entry{entry(), entry()}, false},
		"a result beside a run": {[]Entry{entry(of("a")), entry()}, false},
	} {
		r := Compare(side("r", c.entries...), side("b", entry()), Options{})
		if got := slices.Contains(r.Notes, with); got != c.said || r.Notes == nil || r.Across == nil {
			t.Errorf("%s: %v", name, r.Notes)
		}
	}
}

// TestOrder: the same sides give the same report, whatever the order of their results.
func TestOrder(t *testing.T) {
	t.Parallel()
	var a, b []Entry
	for i := range 12 {
		sized := func(e *Entry) { e.Result.Cell.Batch = i + 1; e.Result.Cell = e.Result.Cell.Normal() }
		version := func(v string) change {
			return func(e *Entry) {
				e.Result.Context.Versions = map[string]string{"torch": v, "numpy": strings.Repeat(v, i%3+1)}
				e.Host.Kernel = v
			}
		}
		a = append(a, entry(sized, version("1")), entry(on("openvino"), sized, version("1")))
		b = append(b, entry(sized, version("2")), entry(on("cuda"), sized))
	}
	first, random := Compare(side("a", a...), side("b", b...), Options{}), rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(a), func(i, j int) { a[i], a[j], b[i], b[j] = a[j], a[i], b[j], b[i] })
		again := Compare(side("a", a...), side("b", b...), Options{})
		if d := cmp.Diff(first, again, cmpopts.IgnoreUnexported(Speed{})); d != "" {
			t.Fatal(d)
		}
	}
}

// TestContexts: between two runs of a history everything that differs is told, also what
// would keep their numbers from being compared.
func TestContexts(t *testing.T) {
	t.Parallel()
	a := entry(func(e *Entry) { e.Result.Actual = &cell.Settings{DType: "fp32", Batch: 8}; e.Result.Cell.Batch = 8 })
	b := entry(func(e *Entry) {
		e.Result.Actual, e.Result.Cell.Batch = &cell.Settings{DType: "fp32", Batch: 2}, 8
		e.Result.Latency.Sync, e.Result.Context.PowerSource = "host-dispatch only", "battery"
	})
	want := []Differs{{"actual settings", "as asked", "fp32, batch 2", 0}, {"clock", "synchronised", "host-dispatch only", 0}, {"power", "mains", "battery", 0}}
	if d := cmp.Diff(want, Contexts(a, b)); d != "" {
		t.Error(d)
	}
}

func TestMeansAndChanges(t *testing.T) {
	t.Parallel()
	heavy := func(e *Entry) {
		n, base := int64(200<<20), int64(100<<20)
		e.Result.Memory, e.Result.EnergyJ = &cell.Memory{HostPeakBytes: &n, HostBaselineBytes: &base}, number(2)
		e.Result.PhasesMS = map[string]float64{"build": 300, "warmup": 1e6}
	}
	light := func(e *Entry) {
		n, base := int64(150<<20), int64(100<<20)
		e.Result.Memory, e.Result.EnergyJ = &cell.Memory{HostPeakBytes: &n, HostBaselineBytes: &base}, number(1)
		e.Result.PhasesMS = map[string]float64{"build": 100, "warmup": 1}
	}
	r := Compare(side("a", entry(light), entry(light, on("openvino"))), side("b", entry(heavy, scaled(2)), entry(heavy, on("openvino"), scaled(0.5))), Options{})
	want := map[string]float64{"all": 1, "family encoder-only": 1, "platform cpu": 2, "platform openvino": 0.5}
	for _, m := range r.Means {
		if w := want[strings.TrimSpace(m.By+" "+m.Name)]; math.Abs(m.Ratio-w) > 1e-9 {
			t.Errorf("%s %s: %v, want %v", m.By, m.Name, m.Ratio, w)
		}
	}
	var told []string
	for _, c := range r.Changes[:6:6] {
		told = append(told, c.What)
	}
	if d := cmp.Diff([]string{"energy", "energy", "load", "load", "memory", "memory"}, told); d != "" || r.Changes[2].Ratio != 3 || r.Changes[4].Ratio != 2 {
		t.Errorf("%s %+v", d, r.Changes)
	}
}

// TestRates: what the program carries about itself can be read and adds up.
func TestRates(t *testing.T) {
	t.Parallel()
	r, err := PublishedRates()
	if err != nil {
		t.Fatal(err)
	}
	if lo, hi := measure.ShareInterval(r.Slower+r.Faster, r.Comparisons); math.Abs(lo-r.Lo) > 1e-6 || math.Abs(hi-r.Hi) > 1e-6 {
		t.Errorf("%+v: the interval is [%v, %v]", r, lo, hi)
	}
}

// TestThemselves: a result that is the newest of both sides is told; one of another run, or
// of the other side of a run, is not.
func TestThemselves(t *testing.T) {
	t.Parallel()
	another := func(e *Entry) { e.Run = "another" }
	second := func(e *Entry) { e.Result.Side = "b" }
	a := side("a", entry(), entry(on("cuda")), entry(on("openvino")))
	r := Compare(a, side("b", entry(), entry(on("cuda"), another), entry(on("openvino"), second)), Options{})
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "1 of 3 cells have one and the same result on both sides") {
		t.Errorf("%q", r.Notes)
	}
	if r := Compare(a, side("b", entry(another)), Options{}); len(r.Notes) != 0 {
		t.Errorf("%q", r.Notes)
	}
}

// sweeps are two of 781 models on 8 targets, all timed.
func sweeps() (a, b Side) {
	random := rand.New(rand.NewPCG(1, 2))
	sweep := func() (out []Entry) {
		for m := range 781 {
			for _, target := range []string{"cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu"} {
				out = append(out, entry(func(e *Entry) {
					e.Result.Cell.Type = "t" + string(rune('a'+m%26)) + strings.Repeat("x", m/26)
				}, on(target), func(e *Entry) {
					for _, r := range e.Result.Latency.SamplesMS {
						r[0] *= math.Exp(0.02 * random.NormFloat64())
					}
				}))
			}
		}
		return out
	}
	return side("a", sweep()...), side("b", sweep()...)
}

// TestSweeps: two sweeps that differ by noise alone are the same.
func TestSweeps(t *testing.T) {
	t.Parallel()
	a, b := sweeps()
	if r := Compare(a, b, Options{}); r.Compared != 781*8 || r.Outcome != Same {
		t.Errorf("%d compared, %s", r.Compared, r.Outcome)
	}
}

// BenchmarkSweeps: what comparing them costs once they are read; internal/history has
// a benchmark of the same with reading.
func BenchmarkSweeps(bench *testing.B) {
	a, b := sweeps()
	for bench.Loop() {
		Compare(a, b, Options{})
	}
}
