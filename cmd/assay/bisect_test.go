package main

import (
	"strings"
	"testing"

	"assay/internal/bisect"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/environment"
)

func TestJudged(t *testing.T) {
	t.Parallel()
	failed := func(v cell.Verdict, c cell.FailureClass) cell.Result {
		return cell.Result{Verdict: v, Failure: &cell.Failure{Class: c, Detail: "it broke"}}
	}
	for name, tt := range map[string]struct {
		of     cell.Result
		strict bool
		want   bisect.State
		why    string
		gone   bool
	}{
		"works":          {cell.Result{Verdict: cell.Works, Evidence: cell.Measured}, false, bisect.Good, "works", false},
		"partial":        {cell.Result{Verdict: cell.Partial, Evidence: cell.Measured, Note: "some"}, false, bisect.Good, "partial: some", false},
		"partial strict": {cell.Result{Verdict: cell.Partial, Evidence: cell.Measured}, true, bisect.Bad, "partial", false},
		"fails":          {failed(cell.Fails, cell.ModelError), false, bisect.Bad, "fails (model-error): it broke", false},
		"unavailable":    {failed(cell.Unavailable, cell.Driver), false, bisect.Untestable, "unavailable", false},
		"Assay breaks":   {failed(cell.Fails, cell.Harness), false, bisect.Untestable, "fails (harness): it broke", false},
		"a full disk":    {failed(cell.Unknown, cell.Environment), false, bisect.Untestable, "unknown (environment): it broke", true},
	} {
		got := judged(tt.of, tt.strict)
		if got.State != tt.want || !strings.HasPrefix(got.Why, tt.why) || got.Fleeting != tt.gone {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPaced(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[compare.SpeedVerdict]bisect.State{
		compare.Slower: bisect.Bad, compare.Faster: bisect.Good, compare.Equal: bisect.Good, compare.Refuted: bisect.Good,
		compare.Unclear: bisect.Good, compare.Untold: bisect.Untestable,
	} {
		finds := 0.031
		got := paced(compare.Speed{Verdict: verdict, Ratio: 1.2, Finds: &finds})
		if got.State != want || got.Why != string(verdict)+", 1.200 × the good release's time (would notice 3 %)" {
			t.Errorf("%s: %+v", verdict, got)
		}
	}
}

func TestAgreeing(t *testing.T) {
	t.Parallel()
	of := func(subject string, values ...float64) cell.Result {
		return cell.Result{Verdict: cell.Works, SubjectHash: subject,
			Fingerprint: &cell.Fingerprint{Reference: "cpu fp64", Samples: map[string]map[string][]float64{"first": {"logits": values}}}}
	}
	good := of("s", 2, 0.5, -0.25)
	for name, tt := range map[string]struct {
		now  cell.Result
		want bisect.State
		why  string
	}{
		"the same":      {of("s", 2, 0.5, -0.25), bisect.Good, "the same answers"},
		"others":        {of("s", 2, 0.5, 0.25), bisect.Bad, "other answers: logits is off by 0.5 (first)"},
		"other shapes":  {of("s", 2, 0.5), bisect.Bad, "its outputs are others"},
		"another model": {of("t", 2, 0.5, -0.25), bisect.Untestable, "its weights"},
		"none":          {cell.Result{Verdict: cell.Works}, bisect.Untestable, "no fingerprint"},
		"fails":         {cell.Result{Verdict: cell.Fails, Failure: &cell.Failure{Class: cell.ModelError, Detail: "x"}}, bisect.Bad, "fails"},
	} {
		if got := agreeing("5.0.0", good, tt.now); got.State != tt.want || !strings.HasPrefix(got.Why, tt.why) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestBisected: each ending has its sentence, and files of the model come first.
func TestBisected(t *testing.T) {
	t.Parallel()
	files := []environment.FileChange{{Path: "transformers/cache.py", How: "changed"}, {Path: "transformers/models/deberta_v2/modeling.py", How: "changed"}, {Path: "transformers/new.py", How: "added"}}
	nearFirst(files, "deberta-v2")
	for want, o := range map[string]bisect.Outcome{
		"first bad release: transformers 3; 2 is good":                                                        {Ending: bisect.Found, LastGood: "2", FirstBad: "3"},
		"bad since transformers 5 or one of the releases before it that cannot be tested (3, 4); 2 is good":   {Ending: bisect.Narrowed, LastGood: "2", FirstBad: "5", Between: []string{"3", "4"}},
		"nothing was found: transformers 5 is good":                                                           {Ending: bisect.NeverBad, LastGood: "5"},
		"nothing was found: transformers 4, the last release that can be tested, is good; 5 cannot be tested": {Ending: bisect.NeverBad, LastGood: "4", Between: []string{"5"}},
		"nothing was found: transformers 1 is bad already; name an older release with --good":                 {Ending: bisect.AllBad, FirstBad: "1"},
		"nothing was found: transformers 2, the first release that can be tested, is bad; 1 cannot be tested": {Ending: bisect.AllBad, FirstBad: "2", Between: []string{"1"}},
		"nothing was found: no release can be tested":                                                         {Ending: bisect.Nothing},
	} {
		o.Releases = 5
		o.Answers = []bisect.Answer{{Release: "3", State: bisect.Bad, Why: "fails", Kept: true}, {Release: "2", State: bisect.Good, Why: "works", Seconds: 41.2}}
		var b strings.Builder
		a := bisectAnswer{Package: "transformers", Outcome: o, Files: files, Others: []environment.Moved{{Package: "tokenizers", Old: "1", New: ""}}}
		if err := a.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"  transformers 3  bad   kept  fails\n", "  transformers 2  good  41 s  works\n", "5 releases, 2 tried\n" + want + "\n",
			"  tokenizers 1 → absent\n", "files of transformers that differ between the two: 3\n  changed  transformers/models/deberta_v2/modeling.py\n  changed  transformers/cache.py\n"} {
			if !strings.Contains(b.String(), line) {
				t.Errorf("%q is missing:\n%s", line, b.String())
			}
		}
	}
}

func TestIsVersion(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"5.10.0": true, "2026.4.1": true, "2.15.0+cpu": true, "5.0.0rc1": true, "": false, "v5": false, ">=5": false, "5,<6": false, "5 ; x": false, "5/../x": false} {
		if isVersion(s) != want {
			t.Errorf("isVersion(%q) is %v", s, !want)
		}
	}
}
