package matrix

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/internal/cell"
	"assay/internal/platform"
)

var noon = time.Date(2026, 11, 14, 12, 0, 0, 0, time.UTC)

// change is one departure from a plain observation.
type change func(*Observation)

func observe(kind, target string, changes ...change) Observation {
	c := cell.Cell{Type: kind, Family: "encoder-only", Task: "fill-mask", Target: target}.Normal()
	x := Observation{Host: "h1", Result: cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured,
		Timing: cell.Functional, SubjectHash: "subject", StartedAt: noon}}
	for _, f := range changes {
		f(&x)
	}
	x.Cell = x.Cell.Normal()
	return x
}

func in(d platform.DType) change   { return func(x *Observation) { x.Cell.DType = d } }
func batch(n int) change           { return func(x *Observation) { x.Cell.Batch = n } }
func host(id string) change        { return func(x *Observation) { x.Host = id } }
func subject(hash string) change   { return func(x *Observation) { x.SubjectHash = hash } }
func known(e cell.Evidence) change { return func(x *Observation) { x.Evidence = e } }
func later(hours int) change {
	return func(x *Observation) { x.StartedAt = noon.Add(time.Duration(hours) * time.Hour) }
}
func verdict(v cell.Verdict) change   { return func(x *Observation) { x.Verdict = v } }
func functional(x *Observation)       { x.Timing = cell.Functional }
func throughput(x *Observation)       { x.Cell.Scenario = cell.ForThroughput }
func hostDispatchOnly(x *Observation) { x.Latency.Sync = "host-dispatch only" }

func full(checkpoint string) change {
	return func(x *Observation) { x.Cell.Size, x.Cell.Checkpoint = cell.Full, checkpoint }
}

func failing(class cell.FailureClass) change {
	return func(x *Observation) {
		x.Verdict, x.Failure = cell.Fails, &cell.Failure{Class: class, Detail: "it broke", Hint: "mend it"}
	}
}

func took(ms float64) change {
	return func(x *Observation) {
		x.Timing = cell.Thorough
		x.Latency = &cell.Latency{Repeats: 6, N: 6, MedianMS: ms, Stable: true}
		for i := range 6 {
			x.Latency.SamplesMS = append(x.Latency.SamplesMS, []float64{ms * (1 + float64(i-2)/1000)})
		}
	}
}

func square(t *testing.T, p platform.Name, list ...Observation) Square {
	t.Helper()
	m := Fold(list, Options{Now: noon.Add(24 * time.Hour)})
	if len(m.Rows) != 1 {
		t.Fatalf("%d rows, want one", len(m.Rows))
	}
	return m.Rows[0].Squares[slices.Index(m.Platforms, p)]
}

func TestFoldOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		list     []Observation
		verdict  cell.Verdict
		evidence cell.Evidence
		cond     string
		disagree int
	}{
		{"nobody ran it", []Observation{observe("bert", "cpu")}, NotRun, "", "", 0},
		{"stronger evidence", []Observation{observe("bert", "cuda", known(cell.Derived), later(5)),
			observe("bert", "cuda", failing(cell.OutOfMemory))}, cell.Fails, cell.Measured, "", 1},
		{"newest of one cell", []Observation{observe("bert", "cuda", failing(cell.Driver)),
			observe("bert", "cuda", later(1))}, cell.Works, cell.Measured, "", 0},
		{"two hosts disagree", []Observation{observe("bert", "cuda", failing(cell.OutOfMemory), host("small")),
			observe("bert", "cuda", later(1))}, cell.Works, cell.Measured, "", 1},
		{"absent elsewhere", []Observation{observe("bert", "cuda"),
			observe("bert", "cuda", verdict(cell.Unavailable), known(cell.None), host("laptop"), later(9))}, cell.Works, cell.Measured, "", 0},
		{"absent here", []Observation{observe("bert", "cuda", verdict(cell.Unavailable), known(cell.None))}, cell.Unavailable, cell.None, "", 0},
		{"one dtype", []Observation{observe("bert", "cuda"), observe("bert", "cuda", in(platform.FP16), failing(cell.WrongOutput), later(3))},
			cell.Works, cell.Measured, "fp32 only", 0},
		{"Assay broke", []Observation{observe("bert", "cuda", failing(cell.Harness))}, Unknown, cell.None, "", 0},
		{"the machine broke", []Observation{observe("bert", "cuda", failing(cell.Environment))}, Unknown, cell.None, "", 0},
		{"the machine broke later", []Observation{observe("bert", "cuda"),
			observe("bert", "cuda", failing(cell.Environment), host("h2"), later(1))}, cell.Works, cell.Measured, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := square(t, platform.CUDA, tt.list...)
			if s.Verdict != tt.verdict || s.Evidence != tt.evidence || s.Conditions != tt.cond || len(s.Disagreement) != tt.disagree {
				t.Errorf("%s, %s, %q, %q", s.Verdict, s.Evidence, s.Conditions, s.Disagreement)
			}
		})
	}
}

func TestConditionsNameTasks(t *testing.T) {
	t.Parallel()
	other := observe("bert", "cpu", failing(cell.ModelError), func(x *Observation) { x.Cell.Task = "question-answering" })
	s := square(t, platform.CPU, observe("bert", "cpu"), observe("bert", "cpu", in(platform.BF16)), other)
	if s.Verdict != cell.Works || s.Conditions != "fill-mask only" || s.Why != "for question-answering in fp32: model-error: it broke" || s.Hint != "mend it" {
		t.Errorf("%s, %q, %q", s.Verdict, s.Conditions, s.Why)
	}
}

// A warning beside what works does not hide why it holds under a condition.
func TestAWarningHidesNoCondition(t *testing.T) {
	t.Parallel()
	warned := observe("bert", "cpu", func(x *Observation) { x.Note = "drawn at random" })
	s := foldSquare(platform.CPU, []Observation{warned, observe("bert", "cpu", in(platform.FP16), failing(cell.ModelError))}, noon)
	if s.Conditions != "fp32 only" || s.Why != "drawn at random; in fp16: model-error: it broke" {
		t.Errorf("%q, %q", s.Conditions, s.Why)
	}
	partial := observe("bert", "cpu", verdict(cell.Partial), func(x *Observation) { x.Note = "not checked" })
	if s := foldSquare(platform.CPU, []Observation{partial, observe("bert", "cpu", in(platform.FP16), failing(cell.ModelError))}, noon); s.Why != "not checked" {
		t.Errorf("of a partial one: %q", s.Why)
	}
}

func TestTinyIsARowOfTheType(t *testing.T) {
	t.Parallel()
	tiny := observe("bert", "cpu", func(x *Observation) { x.Cell.Checkpoint = "bert-base-uncased" })
	m := Fold([]Observation{tiny, observe("bert", "cpu", full("bert-base-uncased"), failing(cell.OutOfMemory))}, Options{})
	if len(m.Rows) != 2 || m.Rows[0].Model != "bert" || m.Rows[1].Model != "bert-base-uncased" {
		t.Fatalf("%+v", m.Rows)
	}
	if m.Rows[0].Squares[0].Verdict != cell.Works || m.Rows[1].Squares[0].Verdict != cell.Fails {
		t.Errorf("the sizes got mixed: %+v", m.Rows)
	}
}

func TestSquareSaysWhereItComesFrom(t *testing.T) {
	t.Parallel()
	s := square(t, platform.CPU, observe("bert", "cpu", failing(cell.OutOfMemory), func(x *Observation) {
		x.Context.Versions = map[string]string{"torch": "2.15.0"}
	}))
	if s.Class != cell.OutOfMemory || s.Why != "it broke" || s.Hint != "mend it" || *s.AgeS != 86400 || s.Host != "h1" ||
		s.Size != cell.Tiny || s.Weights != cell.Random || s.DType != platform.FP32 || s.Versions["torch"] != "2.15.0" {
		t.Errorf("%+v", s)
	}
}

func TestSpeedup(t *testing.T) {
	t.Parallel()
	cpu := observe("bert", "cpu", took(40))
	for _, tt := range []struct {
		name string
		cpu  Observation
		cuda Observation
		want bool
	}{
		{"fair", cpu, observe("bert", "cuda", took(4)), true},
		{"other host", cpu, observe("bert", "cuda", took(4), host("h2")), false},
		{"other subject", cpu, observe("bert", "cuda", took(4), subject("another")), false},
		{"subject not known", observe("bert", "cpu", took(40), subject("")), observe("bert", "cuda", took(4), subject("")), false},
		{"other dtype", cpu, observe("bert", "cuda", took(4), in(platform.FP16)), false},
		{"other batch", cpu, observe("bert", "cuda", took(4), batch(8)), false},
		{"emulated", cpu, observe("bert", "cuda", took(4), known(cell.Emulated)), false},
		{"functional run", cpu, observe("bert", "cuda", took(4), functional), false},
		{"functional CPU run", observe("bert", "cpu", took(40), functional), observe("bert", "cuda", took(4)), false},
		{"not synchronised", cpu, observe("bert", "cuda", took(4), hostDispatchOnly), false},
		{"no samples", cpu, observe("bert", "cuda", took(4), func(x *Observation) { x.Latency.SamplesMS = nil }), false},
		{"a clock that stood still", cpu, observe("bert", "cuda", took(0)), false},
		{"wrong output", cpu, observe("bert", "cuda", took(4), failing(cell.WrongOutput)), false},
		{"throughput", cpu, observe("bert", "cuda", took(4), throughput), false},
	} {
		s := square(t, platform.CUDA, tt.cpu, tt.cuda)
		if got := s.Speedup != nil; got != tt.want {
			t.Errorf("%s: speed-up shown = %v, want %v", tt.name, got, tt.want)
		}
		if tt.want && (s.Speedup.Ratio < 9.99 || s.Speedup.Ratio > 10.01 || s.Speedup.Lo == nil) {
			t.Errorf("%s: %+v", tt.name, s.Speedup)
		}
	}
}

func TestLatencyIsNeverThatOfATestRunOrAnEmulator(t *testing.T) {
	t.Parallel()
	for _, f := range []change{functional, known(cell.Emulated), throughput} {
		if s := square(t, platform.CPU, observe("bert", "cpu", took(5), f)); s.Latency != nil {
			t.Errorf("%+v", s.Latency)
		}
	}
	// A later functional run speaks for the verdict and leaves the time alone.
	s := square(t, platform.CPU, observe("bert", "cpu", took(5), batch(4)), observe("bert", "cpu", took(3)), observe("bert", "cpu", later(2)))
	if s.Latency == nil || s.Latency.MedianMS != 3 || s.Latency.Batch != 1 {
		t.Errorf("%+v", s.Latency)
	}
}

func TestLoadAndPeak(t *testing.T) {
	t.Parallel()
	bytes := func(n int64) *int64 { return &n }
	x := observe("bert", "cpu", took(5), func(x *Observation) {
		x.PhasesMS = map[string]float64{"download": 9e6, "build": 1200, "device": 100, "to_device": 200, "first": 80, "import": 4000}
		x.Memory = &cell.Memory{HostBaselineBytes: bytes(440 << 20), HostPeakBytes: bytes(860 << 20)}
	})
	s := square(t, platform.CPU, x)
	if s.Load == nil || s.Load.Seconds != 1.5 || s.Peak == nil || s.Peak.Bytes != 420<<20 || s.Peak.Where != "host" {
		t.Errorf("%+v, %+v", s.Load, s.Peak)
	}
	x.Memory.DevicePeakBytes = bytes(7 << 20)
	if s := square(t, platform.CPU, x); s.Peak.Bytes != 7<<20 || s.Peak.Where != "device" {
		t.Errorf("%+v", s.Peak)
	}
	x.Memory.DeviceBaselineBytes = bytes(3 << 20)
	if s := square(t, platform.CPU, x); s.Peak.Bytes != 4<<20 {
		t.Errorf("what the device held before is counted: %+v", s.Peak)
	}
	x.Memory.DevicePeakBytes, x.Memory.HostBaselineBytes = nil, nil
	if s := square(t, platform.CPU, x); s.Peak != nil {
		t.Errorf("a peak of which the baseline is not known: %+v", s.Peak)
	}
}

func TestFastest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		list []Observation
		want []platform.Name
	}{
		{"of three", []Observation{observe("bert", "cpu", took(40)), observe("bert", "cuda", took(4)), observe("bert", "openvino", took(20))}, []platform.Name{platform.CUDA}},
		{"the CPU", []Observation{observe("bert", "cpu", took(4)), observe("bert", "cuda", took(40))}, []platform.Name{platform.CPU}},
		{"each host for itself", []Observation{observe("bert", "cpu", took(400)), observe("bert", "openvino", took(20)),
			observe("bert", "cpu", took(4), host("h2")), observe("bert", "cuda", took(2), host("h2"))}, []platform.Name{platform.OpenVINO, platform.CUDA}},
		{"nothing timed", []Observation{observe("bert", "cpu"), observe("bert", "cuda")}, nil},
		{"no CPU", []Observation{observe("bert", "cuda", took(4)), observe("bert", "openvino", took(20))}, nil},
		{"dtypes apart", []Observation{observe("bert", "cpu", took(4)), observe("bert", "cuda", took(2), in(platform.FP16))}, nil},
		{"the simplest settings", []Observation{observe("bert", "cpu", took(40), batch(8)), observe("bert", "cuda", took(4), batch(8)),
			observe("bert", "cpu", took(5)), observe("bert", "cuda", took(6))}, []platform.Name{platform.CPU}},
	} {
		var got []platform.Name
		for _, f := range FindFastest(tt.list) {
			got = append(got, f.Platform)
			if (f.Speedup == nil) != (f.Platform == platform.CPU) {
				t.Errorf("%s: %+v", tt.name, f)
			}
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestRowsAndFamilies(t *testing.T) {
	t.Parallel()
	models := []Model{{Type: "vit", Family: "vision"}, {Type: "bert", Family: "encoder-only", Priority: "key"}, {Type: "odd", Family: "unheard-of"}}
	m := Fold([]Observation{observe("bert", "cpu"), observe("albert", "cpu", failing(cell.ModelError))}, Options{Models: models})
	var names []string
	for _, r := range m.Rows {
		names = append(names, r.Model)
	}
	if diff := cmp.Diff([]string{"albert", "bert", "vit", "odd"}, names); diff != "" {
		t.Error(diff)
	}
	fams := m.Families()
	if len(fams) != 3 || fams[0].Models != 2 || fams[0].Counts[0].Verdicts[cell.Works] != 1 || fams[0].Counts[0].Verdicts[cell.Fails] != 1 ||
		fams[1].Counts[3].Verdicts[NotRun] != 1 {
		t.Errorf("%+v", fams)
	}
	if n := m.Count(); n[cell.Works] != 1 || n[cell.Fails] != 1 || n[NotRun] != 4*8-2 {
		t.Errorf("%v", n)
	}
}

// A matrix does not depend on the order in which results came in.
func TestFoldPermutes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var list []Observation
	for _, target := range []string{"cpu", "cuda", "qnn"} {
		for _, v := range []cell.Verdict{cell.Works, cell.Partial, cell.Fails, cell.Unavailable} {
			for _, d := range []platform.DType{platform.FP32, platform.FP16} {
				list = append(list, observe("bert", target, verdict(v), in(d), took(5), later(random.IntN(3)), host(string('a'+rune(random.IntN(3))))))
			}
		}
	}
	want := Fold(list, Options{Now: noon})
	rapid.Check(t, func(t *rapid.T) {
		got := Fold(rapid.Permutation(list).Draw(t, "list"), Options{Now: noon})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What was derived of a platform never speaks where something ran there, in
// whatever order and however new; it speaks where the platform is not there.
func TestDerivedStandsBelowWhatRan(t *testing.T) {
	t.Parallel()
	derived := observe("bert", "mps", known(cell.Derived), later(9))
	absent := observe("bert", "mps", known(cell.None), verdict(cell.Unavailable), later(8))
	for _, e := range []cell.Evidence{cell.Measured, cell.Emulated, cell.Compiled} {
		ran := observe("bert", "mps", known(e), failing(cell.UnsupportedOperator))
		s := foldSquare(platform.MPS, []Observation{derived, absent, ran}, noon)
		if s.Verdict != cell.Fails || s.Evidence != e || len(s.Disagreement) != 1 || !strings.HasPrefix(s.Disagreement[0], "should work (derived, mps, ") {
			t.Errorf("%s: %s by %s, against %v", e, s.Verdict, s.Evidence, s.Disagreement)
		}
	}
	if s := foldSquare(platform.MPS, []Observation{absent, derived}, noon); s.Verdict != cell.Works || s.Evidence != cell.Derived || len(s.Disagreement) != 0 {
		t.Errorf("%s by %s, against %v", s.Verdict, s.Evidence, s.Disagreement)
	}
}
