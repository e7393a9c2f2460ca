package main

import (
	"errors"
	"testing"

	"assay/internal/cell"
)

// TestStrictSaysWhatIsLacking: a device that is not there and what Assay cannot
// do on one that is are told apart.
func TestStrictSaysWhatIsLacking(t *testing.T) {
	t.Parallel()
	absent := cell.Result{Verdict: cell.Unavailable}
	beyond := cell.Result{Verdict: cell.Unavailable, Failure: &cell.Failure{Class: cell.BeyondAssay}}
	for _, tc := range []struct {
		results []cell.Result
		want    string
	}{
		{[]cell.Result{absent}, "1 requested cell has no device here"},
		{[]cell.Result{beyond}, "1 requested cell is beyond what Assay can do there: see above"},
		{[]cell.Result{beyond, absent, beyond}, "1 requested cell has no device here; 2 requested cells are beyond what Assay can do there: see above"},
	} {
		var s *statusError
		if err := status(tc.results, true); !errors.As(err, &s) || s.status != exitUnavailable || err.Error() != tc.want {
			t.Errorf("%v, want %q", err, tc.want)
		}
		if err := status(tc.results, false); err != nil {
			t.Errorf("without --strict: %v", err)
		}
	}
}
