package main

import (
	"errors"
	"testing"

	"assay/internal/cell"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	works, fails := cell.Result{Verdict: cell.Works}, cell.Result{Verdict: cell.Fails}
	absent := cell.Result{Verdict: cell.Unavailable}
	unsuited := cell.Result{Verdict: cell.Unavailable, Failure: &cell.Failure{Class: cell.Unsuited}}
	for _, tc := range []struct {
		what    string
		results []cell.Result
		strict  bool
		want    int
	}{
		{"works", []cell.Result{works}, false, exitOK},
		{"fails", []cell.Result{works, fails}, false, exitFails},
		{"no device", []cell.Result{absent}, false, exitOK},
		{"no device, strict", []cell.Result{works, absent}, true, exitUnavailable},
		{"asked for what no model of it has", []cell.Result{unsuited, unsuited}, false, exitUsage},
		{"asked for what one of two has", []cell.Result{unsuited, works}, false, exitOK},
		{"asked for what one of two has, strict", []cell.Result{unsuited, works}, true, exitUsage},
		{"a failure says more", []cell.Result{unsuited, fails}, true, exitFails},
	} {
		got := exitOK
		if s := (*statusError)(nil); errors.As(status(tc.results, tc.strict), &s) {
			got = s.status
		}
		if got != tc.want {
			t.Errorf("%s: status %d, want %d", tc.what, got, tc.want)
		}
	}
}
