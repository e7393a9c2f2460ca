package snapshot

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

func row(name, class string) catalog.Row {
	return catalog.Row{Type: name, Class: class, Task: "fill-mask", Tasks: []string{"fill-mask"}, Inputs: []string{"input_ids"}}
}

func outcome(name string, v cell.Verdict) Outcome {
	o := Outcome{Type: name, Platform: "cpu", Size: "tiny", DType: "fp32", Verdict: v, Evidence: cell.Measured}
	if v == cell.Fails {
		o.Class, o.Detail = cell.ModelError, "shape mismatch (BertSelfAttention, modeling_bert.py:123)"
	}
	return o
}

func TestCompareTypes(t *testing.T) {
	t.Parallel()
	before := Snapshot{Types: []catalog.Row{row("bert", "BertForMaskedLM"), row("gone", "GoneModel"), row("same", "SameModel")}}
	changed := row("bert", "BertModel")
	changed.Inputs = []string{"input_ids", "bbox"}
	after := Snapshot{Types: []catalog.Row{changed, row("fresh", "FreshModel"), row("same", "SameModel")}}
	d := Compare(before, after)
	want := Difference{
		Schema: cell.Schema, Old: Side{Types: 3}, New: Side{Types: 3},
		Added: []catalog.Row{row("fresh", "FreshModel")}, Removed: []catalog.Row{row("gone", "GoneModel")},
		Changed: []Change{{"bert", "class", "BertForMaskedLM", "BertModel"}, {"bert", "inputs", "input_ids", "bbox, input_ids"}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if d := Compare(before, before); len(d.Added)+len(d.Removed)+len(d.Changed) != 0 || d.Added == nil {
		t.Errorf("a catalogue differs from itself: %+v", d)
	}
}

// TestTurns: of each pair of verdicts, on which list it stands.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		before, after cell.Verdict
		want          string
	}{
		{cell.Works, cell.Fails, "broken"},
		{cell.Partial, cell.Fails, "broken"},
		{cell.Fails, cell.Works, "mended"},
		{cell.Fails, cell.Partial, "mended"},
		{cell.Works, cell.Partial, "other"},
		{cell.Partial, cell.Works, "other"},
		{cell.Works, cell.Works, ""},
		{cell.Fails, cell.Fails, ""},
	} {
		d := Compare(Snapshot{Outcomes: []Outcome{outcome("bert", tc.before)}}, Snapshot{Outcomes: []Outcome{outcome("bert", tc.after)}})
		got := ""
		for name, list := range map[string][]Turn{"broken": d.Broken, "mended": d.Mended, "other": d.Other} {
			if len(list) > 0 {
				got += name
			}
		}
		if got != tc.want {
			t.Errorf("%s → %s stands under %q, want %q", tc.before, tc.after, got, tc.want)
		}
	}
}

// TestWhatDidNotRunBreaksNothing: where one side ran and the other was only
// judged, nothing broke between them, and the words say which is which.
func TestWhatDidNotRunBreaksNothing(t *testing.T) {
	t.Parallel()
	judged := func(v cell.Verdict) Outcome {
		o := outcome("bert", v)
		o.Evidence = cell.Derived
		return o
	}
	for _, tc := range []struct {
		before, after Outcome
		broken, other int
		says          string
	}{
		{judged(cell.Works), outcome("bert", cell.Fails), 0, 1, "should work → fails"},
		{judged(cell.Works), judged(cell.Fails), 1, 0, "should work → fails"},
		{outcome("bert", cell.Works), judged(cell.Partial), 0, 1, "works → should work partly"},
	} {
		d := Compare(Snapshot{Outcomes: []Outcome{tc.before}}, Snapshot{Outcomes: []Outcome{tc.after}})
		var b strings.Builder
		if err := d.WriteText(&b); err != nil || len(d.Broken) != tc.broken || len(d.Other) != tc.other || !strings.Contains(b.String(), tc.says) {
			t.Errorf("%v: %d broken, %d other:\n%s", err, len(d.Broken), len(d.Other), b.String())
		}
	}
}

func TestWhatWasNotTriedSaysNothing(t *testing.T) {
	t.Parallel()
	before := Snapshot{Outcomes: []Outcome{outcome("bert", cell.Works), outcome("gone", cell.Works), outcome("never", cell.Fails)}}
	after := Snapshot{Types: []catalog.Row{row("bert", "BertModel")}, Outcomes: []Outcome{outcome("fresh", cell.Fails), outcome("good", cell.Works)}}
	d := Compare(before, after)
	if len(d.Broken) != 1 || d.Broken[0].Old.Type != "gone" || d.Broken[0].New != nil {
		t.Errorf("broken: %+v", d.Broken)
	}
	if len(d.Failing) != 1 || d.Failing[0].Type != "fresh" || len(d.Mended)+len(d.Other) != 0 {
		t.Errorf("%+v", d)
	}
	if d := Compare(before, Snapshot{Types: after.Types}); d.Broken != nil {
		t.Errorf("results are compared with nothing: %+v", d.Broken)
	}
}

func TestOfResults(t *testing.T) {
	t.Parallel()
	result := func(name string, v cell.Verdict, f *cell.Failure) cell.Result {
		return cell.Result{Cell: cell.Cell{Type: name}.Normal(), Verdict: v, Evidence: cell.Measured, Failure: f}
	}
	got := OfResults([]cell.Result{
		result("vit", cell.Works, nil),
		result("bert", cell.Fails, &cell.Failure{Class: cell.ModelError, Detail: "newest"}),
		result("bert", cell.Works, nil), // older
		result("t5", cell.Fails, &cell.Failure{Class: cell.Environment}),
		result("clip", cell.Unavailable, nil),
		result("noop", cell.Works, nil),
	})
	var names []string
	for _, o := range got {
		names = append(names, o.Type+" "+string(o.Verdict))
	}
	if diff := cmp.Diff([]string{"bert fails", "vit works"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestEverySettingTellsApart: two cells that have different keys are two
// outcomes, whichever setting they differ in, also after a file.
func TestEverySettingTellsApart(t *testing.T) {
	t.Parallel()
	base := cell.Cell{Type: "bert", Checkpoint: "a/b", Size: cell.Full, Target: "cpu/onnxruntime"}
	for name, change := range map[string]func(*cell.Cell){
		"revision": func(c *cell.Cell) { c.Revision = "v2" },
		"batch":    func(c *cell.Cell) { c.Batch = 8 },
		"seq":      func(c *cell.Cell) { c.Seq = 64 },
		"shapes":   func(c *cell.Cell) { c.Shapes = "dynamic" },
		"task":     func(c *cell.Cell) { c.Task = "fill-mask" },
		"target":   func(c *cell.Cell) { c.Target = "openvino" },
	} {
		other := base
		change(&other)
		var list []cell.Result
		for _, c := range []cell.Cell{base, other} {
			list = append(list, cell.Result{Cell: c.Normal(), Verdict: cell.Works, Evidence: cell.Measured})
		}
		b, err := json.Marshal(OfResults(list))
		if err != nil {
			t.Fatal(err)
		}
		var got []Outcome
		if err := json.Unmarshal(b, &got); err != nil || len(got) != 2 || got[0].key() == got[1].key() {
			t.Errorf("%s: %v, %s", name, err, b)
		}
	}
	weights := base
	weights.Weights, weights.Threads = cell.Hub, 3
	if o := others(weights.Normal()); o != nil {
		t.Errorf("what releases are compared without is kept: %+v", o)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	export, err := json.Marshal(Snapshot{Schema: 1, Transformers: "5.22.2", Types: []catalog.Row{row("bert", "B")}, Outcomes: []Outcome{outcome("bert", cell.Works)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		text            string
		types, outcomes int
		release         string
	}{
		"export":    {string(export), 1, 1, "5.22.2"},
		"models":    {`{"schema":1,"models":[{"type":"bert","class":"B"},{"type":"a"}]}`, 2, 0, ""},
		"catalogue": {`{"schema":1,"transformers":"4.51.0","types":[{"type":"bert","class":"B","heads":[{"task":"fill-mask","class":"B"}]}]}`, 1, 0, "4.51.0"},
		"matrix": {`{"schema":1,"results":3,"matrix":{"rows":[{"type":"bert","squares":[
			{"platform":"cpu","verdict":"works"},{"platform":"cuda","verdict":"not-run"},{"platform":"rocm","verdict":"unavailable"}]}]}}`, 0, 1, ""},
		"test": {`{"schema":1,"run":{"id":"x"},"results":[{"cell":{"type":"bert","platform":"cpu"},"verdict":"works","context":{"versions":{"transformers":"5.0.0"}}}]}`, 0, 1, "5.0.0"},
	} {
		s, err := Read([]byte(tc.text))
		if err != nil || len(s.Types) != tc.types || len(s.Outcomes) != tc.outcomes || s.Transformers != tc.release {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for text, want := range map[string]string{
		`{"schema":1}`:                         "neither a catalogue",
		`{"schema":9,"models":[]}`:             "schema 9",
		`[`:                                    "cannot be parsed",
		`{"schema":1,"results":"many"}`:        "its results cannot be parsed",
		`{"schema":1,"models":{"bert":"why"}}`: "cannot be parsed",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Read([]byte(`{"schema":1}`)); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// FuzzRead: what reads can be compared with itself, and then nothing changed.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":1,"models":[{"type":"bert","class":"B"}]}`))
	f.Add([]byte(`{"schema":1,"matrix":{"rows":[{"type":"bert","squares":[{"platform":"cpu","verdict":"fails"}]}]}}`))
	f.Add([]byte(`{"schema":1,"results":[{"cell":{"type":"bert"},"verdict":"works"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Read(b)
		if err != nil {
			return
		}
		d := Compare(s, s)
		if len(d.Added)+len(d.Removed)+len(d.Broken)+len(d.Mended) != 0 {
			t.Errorf("%s differs from itself: %+v", b, d)
		}
		if err := d.WriteText(&strings.Builder{}); err != nil {
			t.Error(err)
		}
	})
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	before := Snapshot{Transformers: "5.21.0", Types: []catalog.Row{row("bert", "BertForMaskedLM")}, Outcomes: []Outcome{outcome("bert", cell.Works), outcome("t5", cell.Fails)}}
	after := Snapshot{Transformers: "5.22.2", Types: []catalog.Row{row("bert", "BertModel"), row("part", "")}, Outcomes: []Outcome{outcome("bert", cell.Fails), outcome("t5", cell.Works)}}
	d := Compare(before, after)
	d.Old.Name, d.New.Name = "old.json", "installed"
	var b strings.Builder
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const failed = "fails, model-error: shape mismatch (BertSelfAttention, modeling_bert.py:123)"
	want := `old.json (transformers 5.21.0, 1 types, 2 outcomes) → installed (transformers 5.22.2, 2 types, 2 outcomes)
types added: 1
  part (component)
types removed: 0
types changed: 1
  bert: class: BertForMaskedLM → BertModel
broken: 1
  bert (cpu, tiny, fp32): works → ` + failed + `
fixed: 1
  t5 (cpu, tiny, fp32): ` + failed + ` → works
changed in other ways: 0
other answers: 0
answers not comparable: 0
failing, not tried before: 0
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestOtherAnswers: what runs on both sides and gives something else is listed,
// and so is what cannot be compared.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	gave := func(name, subject string, product float64) Outcome {
		o := outcome(name, cell.Works)
		o.Given = &cell.KeptFingerprint{Subject: subject, Fingerprint: cell.Fingerprint{
			Reference: "cpu fp64", Samples: map[string]map[string][]float64{"first": {"logits": {2, product}}},
		}}
		return o
	}
	before := Snapshot{Transformers: "5.17.0", Outcomes: []Outcome{gave("bert", "a", 0.5), gave("t5", "a", 0.5), gave("vit", "a", 0.5), outcome("clip", cell.Works)}}
	after := Snapshot{Schema: cell.Schema, Transformers: "5.22.2", Outcomes: []Outcome{gave("bert", "a", 0.5), gave("t5", "a", 0.75), gave("vit", "b", 0.5), gave("clip", "a", 0.5)}}
	var b strings.Builder
	if err := Compare(before, after).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"other answers: 1\n  t5 (cpu, tiny, fp32): its answers changed since transformers 5.17.0: logits by 0.25 of its length (first)\n",
		"answers not comparable: 1\n  vit (cpu, tiny, fp32): its weights have other names",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	line, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(line)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Compare(before, after).Answers, Compare(before, read).Answers); diff != "" {
		t.Error(diff)
	}
}
