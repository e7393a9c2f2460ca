package cell

import "testing"

func TestCount(t *testing.T) {
	t.Parallel()
	works, partial, fails, broke := Result{Verdict: Works}, Result{Verdict: Partial}, Result{Verdict: Fails}, Result{Verdict: Unknown}
	absent := Result{Verdict: Unavailable}
	beyond := Result{Verdict: Unavailable, Failure: &Failure{Class: BeyondAssay}}
	unsuited := Result{Verdict: Unavailable, Failure: &Failure{Class: Unsuited}}
	passed := Result{Verdict: Fails, Fallback: &Fallback{From: "cuda", To: "cpu"}}
	type counts struct {
		failing, absent, broken int
		unsuited                bool
		lacking                 string
	}
	for name, tc := range map[string]struct {
		results []Result
		strict  bool
		want    counts
	}{
		"all is well":                {[]Result{works, partial, absent}, false, counts{}},
		"strict":                     {[]Result{works, partial, absent}, true, counts{failing: 1, absent: 1, lacking: "1 requested cell has no device here"}},
		"fails":                      {[]Result{works, fails, fails}, false, counts{failing: 2}},
		"the machine broke":          {[]Result{broke, works}, false, counts{broken: 1}},
		"a step of a fallback":       {[]Result{passed, works}, true, counts{}},
		"two without a device":       {[]Result{absent, absent}, true, counts{absent: 2, lacking: "2 requested cells have no device here"}},
		"beyond Assay, and a device": {[]Result{beyond, absent}, true, counts{absent: 2, lacking: "1 requested cell has no device here; 1 requested cell is beyond what Assay can do there: see above"}},
		"beyond Assay":               {[]Result{beyond, beyond}, true, counts{absent: 2, lacking: "2 requested cells are beyond what Assay can do there: see above"}},
		"nothing suits":              {[]Result{unsuited}, false, counts{unsuited: true}},
		"something suits":            {[]Result{unsuited, works}, false, counts{}},
		"something suits, strict":    {[]Result{works, unsuited}, true, counts{unsuited: true}},
	} {
		got := Count(tc.results, tc.strict)
		if counted := (counts{got.Failing, got.Absent, got.Broken, got.Unsuited != nil, tc.want.lacking}); counted != tc.want {
			t.Errorf("%s: %+v, want %+v", name, counted, tc.want)
		}
		if tc.strict && got.Lacking() != tc.want.lacking {
			t.Errorf("%s: %q, want %q", name, got.Lacking(), tc.want.lacking)
		}
	}
}
