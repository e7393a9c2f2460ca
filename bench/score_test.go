package main

import (
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/platform"
)

func measuredAs(kind string, d platform.DType, class cell.FailureClass, derived cell.Verdict) trial {
	r := cell.Result{Cell: cell.Cell{Type: kind, DType: d}.Normal(), Verdict: cell.Works, Evidence: cell.Measured}
	if class != "" {
		r.Verdict, r.Failure = cell.Fails, &cell.Failure{Class: class, Detail: "it broke"}
	}
	return trial{r, lab.Derived{Verdict: derived, Why: "the table says so"}}
}

func TestScored(t *testing.T) {
	t.Parallel()
	got := scored([]trial{
		measuredAs("a", platform.FP16, cell.UnsupportedDType, cell.Fails),
		measuredAs("b", platform.FP16, cell.ModelError, cell.Works),
		measuredAs("c", platform.FP16, cell.UnsupportedOperator, ""),
		measuredAs("d", platform.FP16, "", cell.Fails),
		measuredAs("e", platform.FP16, cell.WrongOutput, cell.Works),
		measuredAs("f", platform.FP16, "", cell.Partial),
		measuredAs("a", platform.FP32, "", cell.Works),
	})
	if len(got) != 2 || got[0].dtype != "fp32" {
		t.Fatalf("%+v", got)
	}
	s := got[1]
	if s.cells != 6 || s.failing != 3 || s.said != 2 || s.right != 1 || s.silent != 1 || s.silentFailing != 1 || s.wrongNumbers != 1 {
		t.Errorf("%+v", s)
	}
	if len(s.wrong) != 2 || s.wrong[0][3] != "it broke" || s.wrong[1][3] != "the table says so" {
		t.Errorf("%v", s.wrong)
	}
	if v := s.row().Value; !strings.Contains(v, "precision 0.50 (1 of 2), recall 0.33 (1 of 3)") || !strings.Contains(v, `right in 50.0 % of cells, "always works" in 50.0 %`) {
		t.Error(v)
	}
	if v := got[0].row().Value; !strings.Contains(v, "precision – (0 of 0), recall – (0 of 0)") || !strings.Contains(v, "right in 100.0 %") {
		t.Error(v)
	}
}
