package board

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

func made(t testing.TB, own ...matrix.Observation) Board {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	book, err := atlas.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Make(Input{Catalog: cat, Book: book, Own: own, Now: noon, Assay: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// at is a model's cell on a target.
func (b Board) at(t testing.TB, model, target string) Cell {
	t.Helper()
	column := slices.IndexFunc(b.Columns, func(c Column) bool { return c.Target == target })
	row := slices.IndexFunc(b.Rows, func(r Row) bool { return r.Model == model })
	if column < 0 || row < 0 {
		t.Fatalf("there is no %s on %s", model, target)
	}
	return b.Rows[row].Cells[column]
}

// Every type that the table plans has a cell for every target, and the whole is small.
func TestWhole(t *testing.T) {
	t.Parallel()
	b := made(t)
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	planned, err := cat.Select(catalog.Selector{All: true})
	if err != nil || len(b.Rows) != len(planned) {
		t.Errorf("%d rows of %d, %v", len(b.Rows), len(planned), err)
	}
	for _, p := range platform.Names() {
		if !slices.ContainsFunc(b.Columns, func(c Column) bool { return c.Platform == p && len(c.Also) > 0 }) {
			t.Errorf("no column of %s that can be searched for", p)
		}
	}
	for _, r := range b.Rows {
		if len(r.Cells) != len(b.Columns) || r.Family < 0 {
			t.Errorf("%+v", r)
		}
	}
	text, err := json.Marshal(b)
	if err != nil || len(text) > 600e3 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	c := b.at(t, "bert", "cuda")
	if b.Verdicts[c.Verdict-1] != "works" || b.Evidences[c.Evidence-1] != "measured" || c.Day == 0 || c.With == 0 {
		t.Errorf("bert on cuda: %+v", c)
	}
}

// An own result stands in the atlas's place, with its numbers; a checkpoint gets a
// row of its own.
func TestOwn(t *testing.T) {
	t.Parallel()
	x := matrix.Observation{Host: "here", Result: cell.Result{
		Cell:    cell.Cell{Type: "bert", Task: "fill-mask", Target: "cuda", DType: platform.FP32, Size: cell.Tiny}.Normal(),
		Verdict: cell.Fails, Evidence: cell.Measured, Failure: &cell.Failure{Class: cell.WrongOutput, Detail: "off"}, StartedAt: noon,
	}}
	full := x
	full.Cell = cell.Cell{Type: "bert", Task: "fill-mask", Checkpoint: "owner/base", Target: "cpu", DType: platform.FP32, Size: cell.Full, Weights: cell.Hub}.Normal()
	full.Verdict, full.Failure, full.Timing = cell.Works, nil, cell.Quick
	full.Latency = &cell.Latency{Repeats: 3, N: 3, MedianMS: 7}
	b := made(t, x, full)
	if c := b.at(t, "bert", "cuda"); b.Verdicts[c.Verdict-1] != "fails" || c.Flags != Own|Contradicts || b.Words[c.Word-1] != "wrong-output" {
		t.Errorf("%+v", c)
	}
	if c := b.at(t, "owner/base", "cpu"); b.Verdicts[c.Verdict-1] != "works" || c.Numbers == nil || c.Numbers.LatencyMS != 7 || !c.Numbers.Unstable {
		t.Errorf("%+v", c)
	}
	if c := b.at(t, "owner/base", "qnn"); b.Evidences[c.Evidence-1] != "predicted" {
		t.Errorf("of a checkpoint that nobody ran there: %+v", c)
	}
}

// A cell is a list that ends with its last number.
func TestCell(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Cell{
		"[]":                        {},
		"[8,0,0,0,0,2]":             {Verdict: 8, Word: 2},
		`[1,1,1,5,0,0,1,{"l":2.5}]`: {Verdict: 1, Evidence: 1, DType: 1, Day: 5, Flags: 1, Numbers: &Numbers{LatencyMS: 2.5}},
	} {
		if got, err := json.Marshal(c); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	on := func(target, version string) atlas.Claim {
		return atlas.Claim{Column: atlas.Column{Target: target}, Verdict: cell.Works, Versions: map[string]string{"torch": version, "openvino": version}}
	}
	n := Newest{}
	for _, v := range []string{"2.9.1", "2.15.0", "2.11.0+cu130"} {
		n.Add(on("cuda", v))
	}
	for version, want := range map[string]string{"2.11.0+cu130": "torch 2.15.0", "2.15.0+cu130": "", "2.15.0": "", "nightly": ""} {
		if got := n.Newer(on("cpu", version)); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	if got := n.Newer(on("openvino", "1.0")); got != "" {
		t.Errorf("another engine's version: %q", got)
	}
	if got := Tried(on("openvino", "1.0")); !strings.HasPrefix(got, "openvino 1.0") || strings.Contains(got, "torch") {
		t.Errorf("%q", got)
	}
}
