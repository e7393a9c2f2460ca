package atlas

import (
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/weights"
)

var (
	bert = Model{Name: "bert", Type: "bert", Task: "fill-mask"}
	base = Model{Name: "owner/base", Type: "bert", Task: "fill-mask", Checkpoint: "owner/base", Weights: weights.Size{Parameters: 110e6, Source: "counted"}}
)

// own is a result of the user's, an hour after the atlas's.
func own(v cell.Verdict, change ...func(*Own)) Own {
	c := cell.Cell{Type: "bert", Task: "fill-mask", Target: "cuda", DType: platform.FP32, Size: cell.Tiny}.Normal()
	o := Own{Result: cell.Result{Cell: c, Verdict: v, Evidence: cell.Measured, StartedAt: noon.Add(time.Hour)}, Host: "mine"}
	for _, f := range change {
		f(&o)
	}
	return o
}

func ask(t testing.TB, m Model, target string, results ...Own) Line {
	t.Helper()
	a, err := book(t, sample()).Ask(m, []string{target}, results)
	if err != nil {
		t.Fatal(err)
	}
	return a.Targets[0]
}

// The best dtype speaks, the others stand beside it, and each line says how to check it.
func TestAsk(t *testing.T) {
	t.Parallel()
	l := ask(t, bert, "cuda")
	if l.Verdict != cell.Works || l.DType != platform.FP32 || len(l.Others) != 1 || l.Others[0].Class != cell.WrongOutput || l.Check != "assay test bert --platform cuda" {
		t.Errorf("%+v", l)
	}
	if l := ask(t, bert, "rocm"); l.Known() || l.Note != "no run on rocm is published" || l.Check != "assay test bert --platform rocm" {
		t.Errorf("a target that the atlas does not have: %+v", l)
	}
	half := func(o *Own) { o.Cell.DType, o.Evidence = platform.FP16, cell.Measured }
	if l := ask(t, bert, "cuda", own(cell.Fails), own(cell.Works, half)); l.Check != "assay test bert --platform cuda --dtype fp16" || len(l.Contradicts) != 2 {
		t.Errorf("only fp16 works: %+v", l)
	}
	vit := Model{Name: "vit", Type: "vit"}
	if l := ask(t, vit, "cuda"); l.Known() || l.Note != "no run is published" {
		t.Errorf("vit %+v", l)
	}
	if l := ask(t, bert, "webgpu", own(cell.Works, func(o *Own) { o.Cell = o.Cell.On(platform.Target{Platform: platform.WebNN}) })); l.Fallback != "webnn" {
		t.Errorf("webgpu falls back to webnn, where it works: %+v", l)
	}
}

// Without targets the answer is about those of the atlas, and of own results.
func TestAllTargets(t *testing.T) {
	t.Parallel()
	second := own(cell.Works, func(o *Own) { o.Cell.Device, o.Cell.Target = "1", "cuda:1" })
	a, err := book(t, sample()).Ask(bert, nil, []Own{second, own(cell.Works), second})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range a.Targets {
		got = append(got, l.Target+" "+string(l.Source))
	}
	if want := "cuda own, qnn atlas, cuda:1 own"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// No claim about a type is a measurement of a checkpoint.
func TestCheckpointIsPredicted(t *testing.T) {
	t.Parallel()
	a, err := book(t, sample()).Ask(base, []string{"cuda", "qnn", "mps"}, []Own{own(cell.Works)})
	if err != nil {
		t.Fatal(err)
	}
	if a.As != "a bert, tiny, random weights" || !strings.Contains(a.Size, "0.4 GB in fp32") {
		t.Errorf("%+v", a)
	}
	want := []cell.Verdict{cell.ShouldWork, cell.ShouldWorkPartly, cell.Unknown}
	for i, l := range a.Targets {
		if l.Shown() != want[i] || l.Evidence == cell.Measured || l.Evidence == cell.Emulated {
			t.Errorf("%s: %s, %s", l.Target, l.Shown(), l.Evidence)
		}
		for _, o := range l.Others {
			if o.Evidence != cell.Predicted {
				t.Errorf("%s in %s: %s", o.Target, o.DType, o.Evidence)
			}
		}
	}
	itself := own(cell.Fails, func(o *Own) {
		o.Cell = cell.Cell{Type: "bert", Checkpoint: "owner/base", Target: "cuda", DType: platform.FP32, Size: cell.Full, Weights: cell.Hub}.Normal()
	})
	if l := ask(t, base, "cuda", itself); l.Verdict != cell.Fails || l.Evidence != cell.Measured || l.Of != "owner/base, full, its own weights" ||
		l.Contradicts[0] != "the atlas says works in fp32 (measured of bert, tiny, random weights, 2026-11-17)" {
		t.Errorf("the checkpoint itself ran: %+v", l)
	}
	if l := ask(t, base, "cuda", own(cell.Works), itself); l.Verdict != cell.Fails {
		t.Errorf("a tiny one spoke for the checkpoint: %+v", l)
	}
	changed := itself
	changed.Content = "a digest"
	if l := ask(t, base, "cuda", changed); l.Evidence != cell.Predicted {
		t.Errorf("files that may have changed since: %+v", l)
	}
	if l := ask(t, bert, "cuda", itself); l.Source != FromAtlas {
		t.Errorf("a checkpoint spoke for its type: %+v", l)
	}
	unnamed := Model{Name: "./x", Type: "bert", Checkpoint: "/x/config.json"}
	if a, err := book(t, sample()).Ask(unnamed, nil, nil); err != nil || a.Size != "size not checked" {
		t.Errorf("%+v, %v", a, err)
	}
}

// Weights that are larger than their device fail there, in the dtypes in which they
// are; what ran at its true size does not care.
func TestMemory(t *testing.T) {
	t.Parallel()
	with := func(bytes int64) Model {
		m := base
		m.Room = func(target string) Room { return map[string]Room{"cuda": {bytes, "a GPU"}}[target] }
		return m
	}
	works := own(cell.Works, func(o *Own) { o.Cell.DType = platform.FP16 })
	if l := ask(t, with(1e9), "cuda"); l.Verdict != cell.Works || l.DType != platform.FP32 || !l.Memory.Fits || !strings.Contains(l.why(), "weights 0.4 GB of the 1.0 GB of a GPU") {
		t.Errorf("it fits: %+v", l)
	}
	if l := ask(t, with(3e8), "cuda", works); l.Shown() != cell.ShouldWork || l.DType != platform.FP16 || l.Memory.WeightsBytes != 220e6 {
		t.Errorf("half of it fits: %+v", l)
	}
	l := ask(t, with(1e8), "cuda", works)
	if l.Verdict != cell.Fails || l.Class != cell.OutOfMemory || l.Evidence != cell.Predicted || !strings.Contains(l.Detail, "a GPU has 0.1 GB") {
		t.Errorf("nothing fits: %+v", l)
	}
	if l := ask(t, with(1e8), "qnn"); l.Verdict != cell.Partial || l.Memory != nil {
		t.Errorf("a device of unknown memory: %+v", l)
	}
	itself := own(cell.Works, func(o *Own) {
		o.Cell = cell.Cell{Type: "bert", Checkpoint: "owner/base", Target: "cuda", DType: platform.FP32, Size: cell.Full, Weights: cell.Hub}.Normal()
	})
	if l := ask(t, with(1e8), "cuda", itself); l.Verdict != cell.Works || l.Evidence != cell.Measured {
		t.Errorf("it ran: %+v", l)
	}
	tiny := bert
	tiny.Weights, tiny.Room = base.Weights, with(1).Room
	if l := ask(t, tiny, "cuda"); l.Verdict != cell.Works || l.Memory != nil {
		t.Errorf("the type itself is tiny: %+v", l)
	}
}

// An own result stands in the atlas's place where it is about the same thing and
// known as well; that the two differ is said.
func TestOwnOutranks(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		o      Own
		source Source
	}{
		"measured here":        {own(cell.Works), FromOwn},
		"on another machine":   {own(cell.Works, func(o *Own) { o.Imported = true }), FromOther},
		"weaker evidence":      {own(cell.Works, func(o *Own) { o.Evidence = cell.Derived }), FromAtlas},
		"another head":         {own(cell.Works, func(o *Own) { o.Cell.Task = "other" }), FromAtlas},
		"another batch":        {own(cell.Works, func(o *Own) { o.Cell.Batch = 8 }), FromAtlas},
		"another mode":         {own(cell.Works, func(o *Own) { o.Cell.Mode = cell.Generate }), FromAtlas},
		"another device":       {own(cell.Works, func(o *Own) { o.Cell.Device, o.Cell.Target = "1", "cuda:1" }), FromAtlas},
		"no such device":       {own(cell.Unavailable, func(o *Own) { o.Evidence = cell.None }), FromAtlas},
		"a machine that broke": {own(cell.Unknown, func(o *Own) { o.Failure = &cell.Failure{Class: cell.Environment} }), FromAtlas},
		"a run elsewhere":      {own(cell.Works, func(o *Own) { o.Fallback = &cell.Fallback{From: "rocm"} }), FromAtlas},
	} {
		if l := ask(t, bert, "cuda", x.o); l.Source != x.source || len(l.Contradicts) != 0 {
			t.Errorf("%s: %s, %v", name, l.Source, l.Contradicts)
		}
	}
	l := ask(t, bert, "qnn", own(cell.Fails, func(o *Own) {
		o.Cell = cell.Cell{Type: "bert", Target: "qnn", DType: platform.FP16}.Normal()
		o.Failure = &cell.Failure{Class: cell.Driver, Detail: "no"}
	}))
	if l.Verdict != cell.Fails || l.Source != FromOwn || len(l.Contradicts) != 1 || l.Contradicts[0] != "the atlas says partial in fp16 (emulated, 2026-11-17)" {
		t.Errorf("%+v", l)
	}
	works := own(cell.Works, func(o *Own) { o.Cell.DType = platform.FP16 })
	if l := ask(t, bert, "cuda", works); l.DType != platform.FP16 || l.Source != FromOwn || l.Contradicts[0] != "the atlas says fails in fp16 (measured, wrong-output, 2026-11-17)" {
		t.Errorf("what contradicts the atlas speaks, whatever works in another dtype: %+v", l)
	}
	older := own(cell.Fails, func(o *Own) { o.StartedAt = noon })
	for _, list := range [][]Own{{older, own(cell.Works)}, {own(cell.Works), older}} {
		if l := ask(t, bert, "cuda", list...); l.Verdict != cell.Works || l.Source != FromOwn {
			t.Errorf("of two own results the newest speaks: %+v", l)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	b := book(t, sample())
	var answers []Answer
	for _, m := range []Model{bert, base, {Name: "it's \x1b[31m/x", Type: "bert", Checkpoint: "/x"}} {
		a, err := b.Ask(m, []string{"cuda", "qnn", "mps"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	var w strings.Builder
	if err := WriteText(&w, answers); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bert, tiny, random weights\n",
		"\ncuda    works    measured  fp32   2026-11-17  assay test bert --platform cuda  error 1.5e-06; fp16: fails (wrong-output); worked with torch 2.11.0, others not tried; transformers 5.22.2\n",
		"\nqnn     partial  emulated  fp16   2026-11-17  assay test bert --platform qnn   1 operation ran on cpu; 9 of 10 operations on sm8650; transformers 5.22.2\n",
		"\nmps     unknown  none                         assay test bert --platform mps   no run on mps is published\n",
		"\nowner/base: as a bert, tiny, random weights; 110 million parameters, 0.4 GB in fp32, 0.2 GB in fp16 (counted); not compared with a device's memory\n",
		"should work         predicted  fp32   2026-11-17  assay test owner/base --platform cuda  bert, tiny, random weights, was measured; ",
		`assay test 'it'\''s `,
	} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, w.String())
		}
	}
	if strings.Contains(w.String(), "\x1b") {
		t.Errorf("a name steers the terminal: %q", w.String())
	}
}
