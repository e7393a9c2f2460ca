package cell

import (
	"strings"
	"testing"
)

// A result that comes from elsewhere is text: a word that Assay does not have is
// no verdict, whatever it would do in a page.
func TestKnownWords(t *testing.T) {
	t.Parallel()
	sound := func() Result {
		c := Cell{Type: "bert", Checkpoint: "/a/\x1b[2J/<b>", Weights: "/somewhere\n", Target: "cpu"}.Normal()
		s := SettingsOf(c)
		return Result{Cell: c, Verdict: Works, Evidence: Measured, Timing: Functional, Requested: s, Actual: &s}
	}
	if err := sound().Known(); err != nil {
		t.Errorf("a sound result of a folder with a strange name is refused: %v", err)
	}
	if err := (Result{Cell: Cell{Type: "vit", Target: "qnn:sm8650", DType: "bf16"}.Normal(), Verdict: Unavailable, Evidence: None}).Known(); err != nil {
		t.Errorf("a pair that cannot run is a result: %v", err)
	}
	for name, x := range map[string]struct {
		change func(*Result)
		says   string
	}{
		"verdict":   {func(r *Result) { r.Verdict = `"/><script>alert(1)</script>` }, "unknown verdict"},
		"no one":    {func(r *Result) { r.Verdict = "" }, "unknown verdict"},
		"evidence":  {func(r *Result) { r.Evidence = "sworn" }, "unknown evidence"},
		"timing":    {func(r *Result) { r.Timing = "soon" }, "unknown timing"},
		"class":     {func(r *Result) { r.Failure = &Failure{Class: "<b>"} }, "unknown failure class"},
		"size":      {func(r *Result) { r.Cell.Size = "huge" }, "unknown size"},
		"mode":      {func(r *Result) { r.Cell.Mode = "<i>" }, "unknown mode"},
		"dtype":     {func(r *Result) { r.Cell.DType = "<i>" }, "unknown dtype"},
		"platform":  {func(r *Result) { r.Cell.Platform = "<i>" }, "target"},
		"scenario":  {func(r *Result) { r.Cell.Scenario = "<i>" }, "unknown scenario"},
		"requested": {func(r *Result) { r.Requested.Target = "<i>" }, "target"},
		"actual":    {func(r *Result) { r.Actual.Target = "<i>" }, "target"},
		"type":      {func(r *Result) { r.Cell.Type = "bert\x1b[2J" }, "is not a type"},
		"family":    {func(r *Result) { r.Cell.Family = "<script>" }, "is not a family"},
	} {
		r := sound()
		x.change(&r)
		if err := r.Known(); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, x.says)
		}
	}
}
