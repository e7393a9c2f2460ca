//go:build cgo

package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
)

// TestBrief: of a result, what decides whether its cell is done.
func TestBrief(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	inPage := result(3)
	inPage.Content, inPage.Asked = "c0ffee", result(7).Cell.Hash
	inPage.Context.Browser = &cell.Browser{Name: "firefox", Version: "140", UserAgent: "long"}
	write(t, s, "a", inPage, fellBack(), failed(cell.Crash))
	want := map[string]cell.Result{
		inPage.Cell.Hash: {
			Cell: cell.Cell{Hash: inPage.Cell.Hash}, Asked: inPage.Asked, Content: "c0ffee", Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick,
			Context: cell.Context{Browser: &cell.Browser{Name: "firefox", Version: "140"}},
		},
		fellBack().Cell.Hash: {
			Cell: cell.Cell{Hash: fellBack().Cell.Hash}, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Functional,
			Fallback: &cell.Fallback{From: "cuda"},
		},
		failed(cell.Crash).Cell.Hash: {
			Cell: cell.Cell{Hash: failed(cell.Crash).Cell.Hash}, Verdict: cell.Fails, Evidence: cell.Measured, Timing: cell.Functional,
			Failure: &cell.Failure{Class: cell.Crash},
		},
	}
	all, err := s.Brief(t.Context(), Filter{Runs: []string{"a"}})
	must(t, err)
	got := map[string]cell.Result{}
	for _, r := range all {
		got[r.Cell.Hash] = r
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
