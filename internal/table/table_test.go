package table

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func load(t *testing.T) (*catalog.Catalog, []catalog.Entry) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	types, err := Types(cat)
	if err != nil {
		t.Fatal(err)
	}
	return cat, types
}

// The plan has each cell once, and its beginning has seen every family.
func TestPlan(t *testing.T) {
	t.Parallel()
	cat, types := load(t)
	plan, err := Plan(cat, []string{"cuda", "qnn"})
	if err != nil {
		t.Fatal(err)
	}
	seen, families, byType := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, e := range types {
		byType[e.Type] = e.Family
	}
	for i, c := range plan.Cells {
		if seen[c.Hash] {
			t.Errorf("%s on %s twice", c.Type, c.Target)
		}
		seen[c.Hash] = true
		if i < 4*20 {
			families[byType[c.Type]] = true
		}
	}
	if len(plan.Cells) != 4*len(types) || !plan.NoFallback || plan.Timing != cell.Functional {
		t.Errorf("%d cells of %d types, %+v", len(plan.Cells), len(types), plan.Timing)
	}
	all := map[string]bool{}
	for _, e := range types {
		all[e.Family] = true
	}
	if len(families) != len(all) {
		t.Errorf("the first twenty types are of %d families, there are %d", len(families), len(all))
	}
	if _, err := Plan(cat, []string{"cuda", "tpu"}); err == nil || !strings.Contains(err.Error(), `no target "tpu"`) {
		t.Errorf("an unknown target: %v", err)
	}
}

func answer(c Column, modelType string, v cell.Verdict, at time.Time) cell.Result {
	x := c.cell(modelType)
	r := cell.Result{Cell: x, Asked: x.Hash, Verdict: v, Evidence: cell.Measured, StartedAt: at}
	if v == cell.Fails {
		r.Failure = &cell.Failure{Class: cell.WrongOutput}
	}
	return r
}

func of(id string, results ...cell.Result) Run {
	return Run{Run: cell.Run{ID: id, Assay: "abc1234"}, results: results}
}

// The newest answer counts; what ran elsewhere, or broke with its machine, is none.
func TestFold(t *testing.T) {
	t.Parallel()
	cuda := Column{"cuda", "fp32"}
	broke := answer(cuda, "bert", cell.Unknown, noon.Add(2*time.Hour))
	broke.Failure = &cell.Failure{Class: cell.Environment}
	elsewhere := answer(Column{"cpu", "fp32"}, "vit", cell.Works, noon)
	elsewhere.Asked, elsewhere.Fallback = cuda.cell("vit").Hash, &cell.Fallback{From: "cuda"}
	types := []catalog.Entry{{Type: "vit", Family: "vision"}, {Type: "bert", Family: "encoder-only"}}
	table := Fold(types, []Run{
		of("a", answer(cuda, "bert", cell.Works, noon)),
		of("b", answer(cuda, "bert", cell.Fails, noon.Add(time.Hour)), broke, elsewhere),
		of("c", answer(cuda, "t5", cell.Works, noon)),
	})
	if len(table.Rows) != 2 || table.Rows[0].Type != "bert" {
		t.Fatalf("rows %+v", table.Rows)
	}
	got := ""
	for i, c := range table.Columns {
		for _, row := range table.Rows {
			if a := row.Answers[i]; a != nil {
				got += fmt.Sprintf("%s %s %s %s; ", row.Type, c, a.Verdict, a.Run)
			}
		}
	}
	if got != "bert cuda fp32 fails b; " {
		t.Errorf("the answers are %s", got)
	}
	if len(table.Runs) != 1 || table.Runs[0].ID != "b" {
		t.Errorf("runs %+v", table.Runs)
	}
}

// A share of too few answers is not printed, and derived verdicts are not added
// to those that ran.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	cuda, rocm := Column{"cuda", "fp32"}, Column{"rocm", "fp32"}
	var types []catalog.Entry
	var results []cell.Result
	for i := range 20 {
		name := fmt.Sprintf("t%02d", i)
		types = append(types, catalog.Entry{Type: name, Family: "vision"})
		if i < 17 {
			results = append(results, answer(cuda, name, cell.Works, noon))
		}
		derived := answer(rocm, name, cell.Works, noon)
		derived.Evidence = cell.Derived
		results = append(results, derived)
	}
	results = append(results, answer(cuda, "t19", cell.Fails, noon))
	page := func(results []cell.Result) string {
		var b strings.Builder
		if err := Fold(types, []Run{of("a", results...)}).Markdown(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	whole := page(results)
	for _, want := range []string{
		"| cuda fp32 | measured | 17 (94.4 %) | 0 | 0 | 1 | 0 | 2 | A (18) |",
		"| rocm fp32 | derived | 0 (0.0 %) | 0 | 20 | 0 | 0 | 0 | A (20) |",
		"| mps fp32 | | | | | | | 20 | |",
		"| vision | 20 | 17 of 18 | ○ 20 of 20 |",
		"| cuda fp32 | wrong-output | 1 | t19 |",
		"abc1234",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("the page lacks %q:\n%s", want, whole)
		}
	}
	if part := page(results[:20]); !strings.Contains(part, "10 (incomplete, 10 of 20)") {
		t.Errorf("ten of twenty answers:\n%s", part)
	}
}

// A checkpoint stands beside its type's tiny model; a verdict that differs has its cause.
func TestFull(t *testing.T) {
	t.Parallel()
	cat, _ := load(t)
	plan, err := FullPlan(cat, []string{"cuda"})
	if err != nil || len(plan.Cells) < 70 || plan.Cells[0].Size != cell.Full {
		t.Fatalf("%d cells, %v", len(plan.Cells), err)
	}
	if _, err := FullPlan(cat, []string{"rocm"}); err == nil {
		t.Error("a plan for rocm")
	}
	cuda := Column{"cuda", "fp32"}
	var results []cell.Result
	for i, c := range plan.Cells[:3] {
		full := answer(cuda, c.Type, cell.Works, noon)
		full.Cell, full.Asked, full.Parameters = c, c.Hash, int64(i)*1e6
		results = append(results, answer(cuda, c.Type, []cell.Verdict{cell.Works, cell.Fails, cell.Works}[i], noon), full)
	}
	unjudged := &results[5]
	unjudged.Verdict, unjudged.Numerics, unjudged.Note = cell.Partial, nil, "nothing can be said"
	pairs := Pairs(cat, []Run{of("a", results...)})
	if len(pairs) != 3 || !pairs[0].Agree() || pairs[1].Agree() {
		t.Fatalf("%+v", pairs)
	}
	var b strings.Builder
	name := pairs[1].Checkpoint
	if err := WriteFull(&b, pairs, map[string]string{name + " cuda fp32": "a window"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| cuda fp32 | 3 | 3 | 1 (33.3 %) | 2 | 1 |", "| webnn fp32 | not run |",
		"| " + name + " | cuda fp32 | fails, wrong-output | works | a window |", "| " + name + " | 1 M |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
}
